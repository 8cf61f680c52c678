use super::*;

fn machine(stress_ng: bool) -> Machine {
    Machine {
        cpus: 2,
        memory_bytes: 8 << 30,
        stress_ng: stress_ng.then(|| "/usr/bin/stress-ng".into()),
        own_program: "/bin/punctual".into(),
        first_port: 20_000,
        find_program: |name| (name == "here").then(|| "/bin/here".into()),
        has_display: false,
    }
}

fn file(name: &str, more: &str) -> Source {
    let text = format!("about = \"a\"\n{more}\n[[command]]\nname = \"work\"\nrun = \"true\"\n");
    Source::File(Box::new(LoadFile::parse("mine.toml", name, &text).unwrap()))
}

#[test]
fn classes_are_named_joined_and_bounded() {
    let load = Load::of_classes(&[Class::Cpu, Class::Disk], Some(Duration::from_secs(5)), &machine(true));
    assert_eq!(load.name, "cpu+disk");
    assert_eq!(load.commands.len(), 1);
    let words = &load.commands[0].words;
    assert!(words.windows(2).any(|pair| pair == ["--timeout", "15"]), "{words:?}");
    assert!(words.windows(2).any(|pair| pair == ["--temp-path", SCRATCH]), "{words:?}");
    assert!(words.contains(&"--hdd-bytes".to_owned()));
    assert!(load.scored()[0].is_some());
}

#[test]
fn nothing_is_nothing() {
    assert!(Load::of_classes(&[Class::None], None, &machine(true)).is_none());
    assert_eq!(Load::of_classes(&[], None, &machine(true)).name, "none");
    let load = Load::of_sources(&[Source::Class(Class::None)], None, &machine(true)).unwrap();
    assert_eq!(load, Load::none());
}

#[test]
fn without_stress_ng_the_built_in_load_runs_and_says_so() {
    let load = Load::of_classes(&[Class::Mixed, Class::Cpu], None, &machine(false));
    assert_eq!(load.name, "mixed+cpu");
    assert_eq!(load.commands.len(), Class::Mixed.parts().len());
    assert!(load.notes[0].contains("built-in"));
    for part in Class::Mixed.parts() {
        assert!(load.commands.iter().any(|command| command.words[2] == part.name()), "{part:?}");
    }
}

#[test]
fn a_users_commands_are_named_by_themselves() {
    let mut load = Load::none();
    load.add_program(vec!["make".into(), "-j2".into()]);
    load.add_shell_command("true");
    assert_eq!(load.name, "make -j2+true");
    assert!(load.commands[0].ends_measurement && !load.commands[1].ends_measurement);
}

#[test]
fn a_recording_says_of_a_load_what_runs_and_what_is_not_as_asked_for() {
    let mut load = Load::of_classes(&[Class::Cpu], None, &machine(false));
    load.add_shell_command("make -j");
    let info = load.info();
    assert_eq!((info.name.as_str(), info.commands.len()), ("cpu+make -j", load.commands.len()));
    assert_eq!(info.commands.last().unwrap(), &["/bin/sh", "-c", "make -j"]);
    assert_eq!(info.trouble, load.notes);
    assert!(info.trouble[0].contains("stress-ng is not installed"), "{info:?}");
    assert_eq!(Load::none().info().name_or_none(), "none");
}

#[test]
fn a_file_brings_its_warm_up_and_what_it_stands_for() {
    let office = file("office", "compression = 10\nwarm_up = \"15s\"");
    let load = Load::of_sources(std::slice::from_ref(&office), Some(Duration::from_secs(5)), &machine(true)).unwrap();
    assert_eq!((load.name.as_str(), load.compression_thousandths), ("office", Some(10_000)));
    assert_eq!(load.warm_up, Duration::from_secs(15));
    let both = [Source::Class(Class::Cpu), office.clone(), file("other", "")];
    let load = Load::of_sources(&both, Some(Duration::from_secs(5)), &machine(true)).unwrap();
    assert_eq!((load.name.as_str(), load.compression_thousandths), ("cpu+office+other", None));
    assert!(load.commands[0].words.windows(2).any(|pair| pair == ["--timeout", "30"]), "it outlasts the warm-up");
    let names: Vec<&str> = load.commands.iter().map(|command| command.name.as_str()).collect();
    assert_eq!(names, ["stress-ng", "work", "work 2"]);
}

#[test]
fn what_cannot_run_here_is_said_in_one_line() {
    let refusal = |more: &str| Load::of_sources(&[file("mine", more)], None, &machine(true)).unwrap_err().to_string();
    assert_eq!(
        refusal("[needs]\nprograms = [\"here\", \"gone\", \"a|b\"]"),
        "the load `mine` is not installed (gone, a or b missing): punctual load install mine"
    );
    assert!(Load::of_sources(&[file("mine", "[needs]\nprograms = [\"gone|here\"]")], None, &machine(true)).is_ok());
    assert!(refusal("[needs]\nmemory_mib = 9000").contains("9000 MiB of memory, and this machine has 8192 MiB"));
    assert!(refusal("[needs]\ncpus = 3").contains("3 CPUs"));
    assert!(refusal("[needs]\ndisplay = true").contains("display"));
}

#[test]
fn a_job_file_is_stress_ngs_to_read() {
    let job = Source::StressNgJob("/tmp/some.job".into());
    let load = Load::of_sources(std::slice::from_ref(&job), None, &machine(true)).unwrap();
    assert_eq!(load.name, "some");
    assert!(load.commands[0].words.windows(2).any(|pair| pair == ["--job", "/tmp/some.job"]));
    let error = Load::of_sources(&[job], None, &machine(false)).unwrap_err().to_string();
    assert_eq!(error, "the load `some` is not installed (stress-ng missing): punctual load install /tmp/some.job");
}

#[test]
fn a_program_is_measured_whole_and_what_runs_beside_it_is_warm() {
    let mut load = Load::of_sources(&[file("office", "warm_up = \"4s\"")], None, &machine(true)).unwrap();
    load.add_program(vec!["make".into()]);
    let (beside, program) = load.split();
    assert_eq!((beside.commands.len(), beside.preparations.len(), beside.warm_up), (1, 1, Duration::from_secs(4)));
    assert_eq!((program.commands.len(), program.preparations.len(), program.warm_up), (1, 0, Duration::ZERO));
    assert_eq!(program.commands[0].name, "make");
    assert!(Load::none().split().0.is_none());
}
