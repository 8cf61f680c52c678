//! The tables as a C header.

use crate::{Call, EventKind, Moment, Vector};
use std::fmt::Write;

/// The content of `codes.h`: the numbers that programs in the kernel write and this process reads.
pub fn c_header() -> String {
    let mut header = String::from(
        "/* SPDX-License-Identifier: GPL-2.0-only */\n/* Made from the tables of the crate punctual-codes. */\n\
         #ifndef PUNCTUAL_CODES_H\n#define PUNCTUAL_CODES_H\n",
    );
    enumeration(&mut header, "record_kind", "", &EventKind::SPELT);
    enumeration(&mut header, "vector", "", &Vector::SPELT);
    enumeration(&mut header, "call", "CALL_", &Call::SPELT);
    enumeration(&mut header, "moment", "MOMENT_", &Moment::SPELT);
    header.push_str("\n#endif\n");
    header
}

fn enumeration(header: &mut String, name: &str, prefix: &str, codes: &[(&str, u8)]) {
    let _ = writeln!(header, "\nenum {name} {{");
    for (spelt, code) in codes {
        let _ = writeln!(header, "\t{prefix}{} = {code},", upper(spelt));
    }
    header.push_str("};\n");
}

/// `FaultEnd` as C spells constants: `FAULT_END`.
fn upper(spelt: &str) -> String {
    let mut upper = String::new();
    for (index, letter) in spelt.char_indices() {
        if letter.is_ascii_uppercase() && index > 0 {
            upper.push('_');
        }
        upper.push(letter.to_ascii_uppercase());
    }
    upper
}
