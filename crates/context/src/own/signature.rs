//! Reads from an object's type information whether its function is the one that a device calls. The linker and the
//! kernel compare types as well, but do not say how they differ.

use super::bytes::{number, text_at};
use super::{FUNCTION, HEADER_NAME, block::Block};

const MAGIC: u64 = 0xeb9f;
const INTEGER: u64 = 1;
const POINTER: u64 = 2;
const STRUCTURE: u64 = 4;
const FUNCTION_KIND: u64 = 12;
const PROTOTYPE: u64 = 13;
/// The size of a type's record: its name, kind and count, and size or type.
const RECORD: usize = 12;

/// The right one, in words.
pub(super) const WANTED: &str = "int work(struct punctual_block *block)";
const DAMAGED: &str = "its type information is damaged";

/// Says in a line what is wrong with the function, according to the contents of the section `.BTF`.
pub(super) fn check(information: &[u8]) -> Result<(), String> {
    let types = Types::open(information).ok_or(DAMAGED)?;
    let is_it = |record: &&Type<'_>| record.kind == FUNCTION_KIND && types.name(record).as_deref() == Some(FUNCTION);
    let function =
        types.all.iter().find(is_it).ok_or("its type information has no such function: compile it with -g")?;
    let wrong = || format!("its function has the wrong signature: it must be {WANTED}");
    let prototype = types.at(function.size_or_type).filter(|record| record.kind == PROTOTYPE).ok_or_else(wrong)?;
    let returns = types.at(prototype.size_or_type).ok_or_else(wrong)?;
    let parameter = if prototype.count == 1 { number(prototype.more, 4, 4) } else { None }.ok_or_else(wrong)?;
    let pointer = types.at(parameter).filter(|record| record.kind == POINTER).ok_or_else(wrong)?;
    let block = types.at(pointer.size_or_type).filter(|record| record.kind == STRUCTURE).ok_or_else(wrong)?;
    if returns.kind != INTEGER || returns.size_or_type != 4 || types.name(block).as_deref() != Some("punctual_block") {
        return Err(wrong());
    }
    let members = block.more.as_chunks::<RECORD>().0.iter().map(|member| number(member, 8, 4));
    let wanted = [
        std::mem::offset_of!(Block, number),
        std::mem::offset_of!(Block, samples),
        std::mem::offset_of!(Block, output),
        std::mem::offset_of!(Block, state),
    ];
    let fits =
        block.size_or_type == size_of::<Block>() as u64 && members.eq(wanted.map(|offset| Some(offset as u64 * 8)));
    if fits { Ok(()) } else { Err(format!("its block is not that of this version's {HEADER_NAME}: compile it again")) }
}

/// A type's record.
struct Type<'a> {
    name: u64,
    kind: u64,
    count: u64,
    size_or_type: u64,
    /// Members, parameters, or whatever else follows.
    more: &'a [u8],
}

struct Types<'a> {
    all: Vec<Type<'a>>,
    names: &'a [u8],
}

impl<'a> Types<'a> {
    fn open(bytes: &'a [u8]) -> Option<Types<'a>> {
        let field = |offset| number(bytes, offset, 4).map(|value| value as usize);
        if number(bytes, 0, 2)? != MAGIC {
            return None;
        }
        let body = bytes.get(field(4)?..)?;
        let part = |from: usize, length: usize| body.get(from..)?.get(..length);
        let (mut rest, names) = (part(field(8)?, field(12)?)?, part(field(16)?, field(20)?)?);
        let mut all = Vec::new();
        while !rest.is_empty() {
            let information = number(rest, 4, 4)?;
            let (kind, count) = (information >> 24 & 31, information & 0xffff);
            let length = following(kind, count)?;
            let more = rest.get(RECORD..)?.get(..length)?;
            all.push(Type { name: number(rest, 0, 4)?, kind, count, size_or_type: number(rest, 8, 4)?, more });
            rest = &rest[RECORD + length..];
        }
        Some(Types { all, names })
    }

    /// They count from 1; 0 is `void`.
    fn at(&self, index: u64) -> Option<&Type<'a>> {
        self.all.get((index as usize).checked_sub(1)?)
    }

    fn name(&self, record: &Type<'_>) -> Option<String> {
        text_at(self.names, record.name as usize)
    }
}

/// How many bytes follow the record of a type of this kind.
fn following(kind: u64, count: u64) -> Option<usize> {
    let length = match kind {
        INTEGER | 14 | 17 => 4,
        POINTER | 7..=FUNCTION_KIND | 16 | 18 => 0,
        3 => 12,
        STRUCTURE | 5 | 15 | 19 => 12 * count,
        6 | PROTOTYPE => 8 * count,
        _ => return None,
    };
    Some(length as usize)
}
