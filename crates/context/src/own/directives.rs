//! What the text of a user's C may not ask of the compiler: to read other files, whoever owns them.

use super::HEADER_NAME;

/// Directives that read files, or look at them.
const READING: [&str; 4] = ["include", "include_next", "import", "embed"];
/// Words that do, wherever they are.
const WORDS: [&str; 6] = ["__has_include", "__has_embed", "include_alias", "dependency", "incbin", ".include"];

/// The text without its one `#include`, with each line where it was.
///
/// # Errors
/// What else it would read, in a line.
pub(super) fn without_header(source: &str) -> Result<String, String> {
    // To the compiler each of them ends a line.
    let source = source.replace("\r\n", "\n").replace('\r', "\n");
    let mut text = String::with_capacity(source.len() + 1);
    for line in source.lines() {
        text.push_str(if is_header(line) { "" } else { line });
        text.push('\n');
    }
    for line in without_comments(&joined(&text)).lines() {
        check(line)?;
    }
    Ok(text)
}

/// The text with whole lines: one that ends in a backslash continues in the next, even in the middle of a word. The compiler
/// takes a backslash for that also where blanks follow it.
fn joined(text: &str) -> String {
    let mut joined = String::with_capacity(text.len());
    for line in text.lines() {
        match line.trim_end_matches([' ', '\t', '\u{b}', '\u{c}']).strip_suffix('\\') {
            Some(begun) => joined.push_str(begun),
            None => {
                joined.push_str(line);
                joined.push('\n');
            }
        }
    }
    joined
}

fn check(line: &str) -> Result<(), String> {
    let only = format!(
        "{HEADER_NAME} is the only other file that is read, by #include \"{HEADER_NAME}\" in a line of its own"
    );
    if let Some(asked) = directive(line).filter(|asked| reads(asked)) {
        let words: Vec<&str> = asked.split_whitespace().collect();
        return Err(format!("#{} is refused: {only}", words.join(" ")));
    }
    // Outside a pragma it is an ordinary word.
    let found = |word: &&&str| line.contains(**word) && (**word != "dependency" || line.contains("ragma"));
    WORDS.iter().find(found).map_or(Ok(()), |word| Err(format!("`{word}` is refused: {only}")))
}

/// Whether the line is the one `#include` that is allowed, with nothing else but a comment that ends in it.
fn is_header(line: &str) -> bool {
    let asked = directive(line).and_then(|asked| asked.strip_prefix("include")).map(str::trim);
    let Some(asked) = asked else { return false };
    let named = |open: char, close: char| {
        asked
            .strip_prefix(open)
            .and_then(|rest| rest.strip_prefix(HEADER_NAME))
            .and_then(|rest| rest.strip_prefix(close))
    };
    named('"', '"').or_else(|| named('<', '>')).map(str::trim).is_some_and(|rest| {
        let is_comment = rest.starts_with("//") && !rest.ends_with('\\');
        rest.is_empty() || is_comment || rest.starts_with("/*") && rest.find("*/") == Some(rest.len() - 2)
    })
}

fn directive(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let marks = ["#", "%:", "??="];
    marks.iter().find_map(|mark| line.strip_prefix(mark)).map(str::trim_start)
}

fn reads(directive: &str) -> bool {
    let word = directive.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').next();
    word.is_some_and(|word| READING.contains(&word))
}

/// The text with a blank for each comment; what is between quotes is none.
fn without_comments(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if let Some(comment) = rest.strip_prefix("/*") {
            comment.find("*/").map_or(rest.len(), |end| end + 4)
        } else if letter == '"' || letter == '\'' {
            let length = quoted(rest, letter);
            plain.push_str(&rest[..length]);
            rest = &rest[length..];
            continue;
        } else {
            plain.push(letter);
            rest = &rest[letter.len_utf8()..];
            continue;
        };
        plain.push(' ');
        rest = &rest[skipped..];
    }
    plain
}

/// The length of what is between quotes, which ends with its line at the latest.
fn quoted(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, letter) in text.char_indices().skip(1) {
        match letter {
            '\n' => return at,
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if letter == quote => return at + quote.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_other_file_is_read() {
        let refused = [
            "#include \"evil.h\"",
            "  #  include </dev/zero>",
            "#include MACRO",
            "#inc\\\nlude \"a.h\"",
            "/* a */ # /* b */ include \"a.h\"",
            "%:include \"a.h\"",
            "#include_next <a.h>",
            "#import \"a.h\"",
            "int x = {\n#embed \"/etc/hostname\"\n};",
            "#if __has_include(\"/a\")\n#endif",
            "_Pragma(\"GCC dependency \\\"a.h\\\"\")",
            "__asm__(\".incbin \\\"/etc/hostname\\\"\");",
            "#include \"punctual_work.h\" /*\n*/\n#include \"punctual_work.h/../a.h\"",
            "#include \\\n\"punctual_work.h\"",
            "int x;\r#include \"a.h\"",
            "// x\r#include \"a.h\"",
            "#include \"punctual_work.h\" // x\r#include \"a.h\"",
            "#inc\\ \t\u{c}\nlude \"a.h\"",
            "#inc\\ \rlude \"a.h\"",
        ];
        for text in refused {
            assert!(without_header(text).is_err(), "{text}");
        }
        let taken = [
            "#include \"punctual_work.h\" // the block\r\nint dependency; // #include \"a.h\"",
            "# include <punctual_work.h>\n/*\n#include \"a.h\"\n*/",
            "#define A 'b'\nstatic const char text[] = \"// #include\";\n#if A\n#endif",
        ];
        for text in taken {
            assert!(without_header(text).is_ok(), "{text}");
        }
        assert!(without_header("#include \"evil.h\"").unwrap_err().contains("#include \"evil.h\""));
    }
}
