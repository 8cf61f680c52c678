//! How records are laid out in a compiled BPF object, for the tests that compare both sides of a shared record.

use libbpf_rs::btf::types::{DataSec, MemberAttr, Struct};
use libbpf_rs::btf::{Btf, HasSize};

/// A record's size and each member's name and offset, bytes.
pub type Layout = (usize, Vec<(String, usize)>);

/// How a record of this name is laid out in an object.
///
/// # Panics
/// Where the object has no such record or the record has a bit field: a test should fail then.
pub fn record_layout(btf: &Btf<'_>, name: &str) -> Layout {
    let record: Struct<'_> = btf.type_by_name(name).unwrap_or_else(|| panic!("the object has no record `{name}`"));
    let members = record.iter().map(|member| {
        let MemberAttr::Normal { offset } = member.attr else { panic!("a bit field in {name}") };
        (member.name.unwrap_or_default().to_string_lossy().into_owned(), offset as usize / 8)
    });
    (record.size(), members.collect())
}

/// Where the variables of a section begin, bytes: `[0]` where there is only one, as mapping it from user space requires.
///
/// # Panics
/// Where the object has no such section.
pub fn variable_offsets(btf: &Btf<'_>, section: &str) -> Vec<u32> {
    let section: DataSec<'_> = btf.type_by_name(section).unwrap_or_else(|| panic!("the object has no {section}"));
    section.iter().map(|variable| variable.offset).collect()
}

/// How a record of this program is laid out: `layout_of!(Slot, tid, cpu)` is the [`Layout`] with these members.
#[macro_export]
macro_rules! layout_of {
    ($record:ty, $($member:ident),+ $(,)?) => {
        (
            ::std::mem::size_of::<$record>(),
            ::std::vec![$((stringify!($member).to_owned(), ::std::mem::offset_of!($record, $member))),+],
        )
    };
}
