//! Scripts that come with the program.

use super::Script;

const SHIPPED: [(&str, &str); 8] = [
    ("bash", include_str!("../../scenarios/bash.toml")),
    ("editor", include_str!("../../scenarios/editor.toml")),
    ("less", include_str!("../../scenarios/less.toml")),
    ("micro", include_str!("../../scenarios/micro.toml")),
    ("python3", include_str!("../../scenarios/python3.toml")),
    ("typing", include_str!("../../scenarios/typing.toml")),
    ("vim", include_str!("../../scenarios/vim.toml")),
    ("word", include_str!("../../scenarios/word.toml")),
];

/// Their names.
pub fn names() -> [&'static str; SHIPPED.len()] {
    SHIPPED.map(|(name, _)| name)
}

/// The script of this name: its text.
pub fn shipped(name: &str) -> Option<&'static str> {
    SHIPPED.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// The script for a program if none was chosen, by the program's name: its own name and text.
pub fn default_for(program: &str) -> (&'static str, &'static str) {
    let file = program.rsplit('/').next().unwrap_or(program);
    let file = match file {
        // A terminal emulator runs a shell.
        "sh" | "dash" | "zsh" | "fish" | "xterm" | "xfce4-terminal" | "gnome-terminal" | "konsole" | "urxvt"
        | "foot" | "alacritty" | "kitty" => "bash",
        "mousepad" | "featherpad" | "gedit" | "kate" | "leafpad" | "l3afpad" | "xed" | "pluma" => "editor",
        "vi" | "nvim" | "view" => "vim",
        "lowriter" | "oowriter" => "word",
        "more" | "man" => "less",
        "python" => "python3",
        other => other,
    };
    let typing = SHIPPED.iter().find(|(name, _)| *name == "typing");
    SHIPPED.iter().find(|(name, _)| *name == file).or(typing).copied().unwrap_or(("", ""))
}

impl Script {
    /// One of those that come with the program; `None` if none has this name.
    pub fn shipped(name: &str) -> Option<Script> {
        let text = shipped(name)?;
        // A test reads them all.
        Script::parse(name, text).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_can_be_read_and_are_found() {
        for name in names() {
            let script = Script::parse(name, shipped(name).unwrap()).unwrap();
            assert_eq!(script.name, name);
            assert!(!script.about.is_empty() && script.inputs() >= 20, "{name}");
        }
        assert_eq!(default_for("/usr/bin/vim").0, "vim");
        assert_eq!((default_for("/usr/bin/mousepad").0, default_for("xterm").0), ("editor", "bash"));
        assert_eq!(default_for("foot").0, "bash");
        assert_eq!((default_for("dash").0, default_for("mc").0), ("bash", "typing"));
    }
}
