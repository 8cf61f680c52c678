//! Numbers that both the programs' sources and this crate state, for tests that compare them.

/// The number of a `#define`, or of a member of an enumeration, in a file of `bpf/`.
pub(crate) fn number_in(file: &str, name: &str) -> u64 {
    let path = format!("{}/src/bpf/{file}", env!("CARGO_MANIFEST_DIR"));
    let source = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let stated = source.lines().find_map(|line| {
        let line = line.trim_start();
        let rest = match line.strip_prefix("#define ") {
            Some(definition) => definition.strip_prefix(name)?.strip_prefix(' ')?,
            None => line.strip_prefix(name)?.strip_prefix(" = ")?,
        };
        rest.split(['\t', '/', ',']).next()
    });
    value(stated.unwrap_or_else(|| panic!("{path} states no {name}")))
}

/// `16`, `0xffffff`, `(1U << 31)`.
fn value(stated: &str) -> u64 {
    let number = |text: &str| {
        let digits = text.trim().trim_end_matches(['U', 'L']);
        let parsed = digits.strip_prefix("0x").map_or_else(|| digits.parse(), |hex| u64::from_str_radix(hex, 16));
        parsed.unwrap_or_else(|_| panic!("`{stated}` is not a number"))
    };
    let inner = stated.trim().trim_start_matches('(').trim_end_matches(')');
    inner.split_once("<<").map_or_else(|| number(inner), |(one, by)| number(one) << number(by))
}

#[test]
fn numbers_are_read_as_c_writes_them() {
    assert_eq!(["16", "0xffffff", "(1U << 31)", "7200ULL"].map(value), [16, 0xff_ffff, 1 << 31, 7_200]);
}
