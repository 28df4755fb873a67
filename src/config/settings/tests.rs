//! Layers, and everything that can be wrong.

use super::*;

fn file(dir: &Path, name: &str, text: &str) -> SettingsFile {
    let path = dir.join(name);
    std::fs::write(&path, text).unwrap();
    SettingsFile {
        whose: "test",
        path,
        must_exist: false,
    }
}

fn problems(text: &str) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    let file = file(dir.path(), "config.toml", text);
    match Settings::of_file(&file.path) {
        Ok(_) => Vec::new(),
        Err(error) => error
            .problems()
            .iter()
            .map(|problem| {
                let place = format!("{}/", dir.path().display());
                problem.to_string().replace(&place, "")
            })
            .collect(),
    }
}

#[test]
fn later_layers_win_and_origins_are_known() {
    let dir = tempfile::tempdir().unwrap();
    let files = [
        file(
            dir.path(),
            "a.toml",
            "theme = \"light\"\n[run]\nmax_steps = 7\nmodel = \"m\"\n",
        ),
        file(dir.path(), "b.toml", "[run]\nmax_steps = 8\n"),
        SettingsFile {
            whose: "nobody",
            path: dir.path().join("not-there.toml"),
            must_exist: false,
        },
    ];
    let variables = |name: &str| (name == "AUTOMEM_RUN_MODEL").then(|| "other".to_owned());
    let resolved = Settings::layered(&files, &variables).unwrap();
    let settings = &resolved.settings;
    assert_eq!(settings.theme, "light");
    assert_eq!(settings.run.max_steps, 8);
    assert_eq!(settings.run.model, "other");
    assert_eq!(settings.run.workers, 1);
    let entries = resolved.entries();
    let origin = |key| entries.iter().find(|entry| entry.key == key).unwrap().origin.clone();
    assert!(origin("theme").ends_with("a.toml:1"));
    assert!(origin("run.max_steps").ends_with("b.toml:2"));
    assert_eq!(origin("run.model"), "AUTOMEM_RUN_MODEL");
    assert_eq!(origin("run.workers"), "default");
}

#[test]
fn what_is_wrong_is_told_with_its_place_and_the_nearest_name() {
    assert_eq!(
        problems("them = \"dark\"\n"),
        ["config.toml:1:1: unknown option `them` (did you mean `theme`?)"]
    );
    assert_eq!(
        problems("[run]\n  worker = 2\n[sever]\nidle_s = 1\n"),
        [
            "config.toml:2:3: unknown option `worker` in [run] (did you mean `workers`?)",
            "config.toml:3:2: unknown option `sever` (did you mean `server`?)",
        ]
    );
    assert_eq!(
        problems("run.workers = 0\nrun.exact = 1\ncolors = \"ture\"\nrun.max_steps = 1.5\n"),
        [
            "config.toml:1:5: `run.workers` = 0 is out of range (1 to 64)",
            "config.toml:2:5: `run.exact` cannot be 1 (write true or false)",
            "config.toml:3:1: `colors` knows no \"ture\" (did you mean `true`?)",
            "config.toml:4:5: `run.max_steps` cannot be a number with a fraction \
             (write a whole number from 1 to 10000000)",
        ]
    );
    assert!(problems("theme = \n")[0].starts_with("config.toml:1:"));
    assert!(problems("run = 3\n")[0].contains("`run` is a group"));
    assert!(problems("theme = \" \"\n")[0].contains("is empty"));
    assert!(problems("runs.columns = [\"seed\", \"seed\"]\n")[0].contains("stands twice"));
    assert!(problems("runs.columns = [\"sede\"]\n")[0].contains("did you mean `seed`?"));
    assert!(problems("runs.columns = [1]\n")[0].contains("a list of"));
    assert!(problems("keys = 3\n")[0].contains("is a group of keys"));
    assert!(problems("[keys]\nwatch = \"x\"\n")[0].contains("without an action"));
    assert!(problems("[keys]\nwatch.follow = 3\n")[0].contains("no list of texts"));
    assert!(problems("run.workers = 99999999999999999999\n")[0].contains("out of range"));
    for price in ["-0.5", "nan", "inf", "10001"] {
        let problems = problems(&format!("meta.input_per_million = {price}\n"));
        assert!(problems[0].contains("out of range (0 to 10000)"), "{problems:?}");
    }
    assert!(problems("meta.input_per_million = \"3\"\n")[0].contains("a number from 0"));
    assert!(problems("meta.input_per_million = 3\n").is_empty());
}

#[test]
fn variables_are_checked_like_files() {
    let wrong = |name: &str, value: &str| {
        let (name, value) = (name.to_owned(), value.to_owned());
        let error = Settings::layered(&[], &move |asked| (asked == name).then(|| value.clone())).unwrap_err();
        error.to_string()
    };
    assert!(wrong("AUTOMEM_RUN_WORKERS", "many").contains("AUTOMEM_RUN_WORKERS: `run.workers` cannot be \"many\""));
    assert!(wrong("AUTOMEM_RUN_WORKERS", "65").contains("1 to 64"));
    assert!(wrong("AUTOMEM_COLORS", "blue").contains("knows no \"blue\""));
}

#[test]
fn a_named_file_must_be_there_and_bytes_must_be_text() {
    let dir = tempfile::tempdir().unwrap();
    let error = Settings::of_file(&dir.path().join("no.toml")).unwrap_err();
    assert!(error.to_string().contains("no.toml cannot be read"), "{error}");
    let path = dir.path().join("latin.toml");
    std::fs::write(&path, b"theme = \"d\xe4rk\"").unwrap();
    assert!(Settings::of_file(&path).unwrap_err().to_string().contains("not UTF-8"));
}

/// Every option of the table has a sound default and changes the settings.
#[test]
fn every_option_is_read() {
    let plain = Settings::default();
    for spec in OPTIONS {
        let other = match spec.kind {
            OptionKind::Text => "\"another\"".to_owned(),
            OptionKind::Seeds => "\"7..9\"".to_owned(),
            OptionKind::Word(words) => {
                let other = words
                    .iter()
                    .find(|word| Some(format!("\"{word}\"").as_str()) != spec.default);
                format!("\"{}\"", other.unwrap())
            }
            OptionKind::Words(words) => format!("[\"{}\"]", words[0]),
            OptionKind::Switch => "true".to_owned(),
            OptionKind::Number(_, most) => most.to_string(),
            OptionKind::Decimal(_) => "0.25".to_owned(),
        };
        let dir = tempfile::tempdir().unwrap();
        let file = file(dir.path(), "config.toml", &format!("{} = {other}\n", spec.key));
        let resolved = Settings::of_file(&file.path).unwrap();
        assert_ne!(resolved.settings, plain, "{} is not read", spec.key);
        let entry = resolved
            .entries()
            .into_iter()
            .find(|entry| entry.key == spec.key)
            .unwrap();
        assert_eq!(entry.value.as_deref(), Some(other.as_str()));
        let defaults = Resolved::defaults().entries();
        let default = defaults.iter().find(|entry| entry.key == spec.key).unwrap();
        assert_eq!(default.value.as_deref(), spec.default, "{}", spec.key);
    }
}

#[test]
fn the_sample_is_valid_as_it_is_and_without_its_comments() {
    let dir = tempfile::tempdir().unwrap();
    let keys = [("watch".to_owned(), "follow".to_owned(), vec!["f".to_owned()])];
    let text = sample(&keys);
    let whole = file(dir.path(), "sample.toml", &text);
    assert_eq!(Settings::of_file(&whole.path).unwrap().settings, Settings::default());
    let bare: String = text
        .lines()
        .map(|line| match line.strip_prefix("# ") {
            Some(rest) if rest.contains(" = ") && !rest.contains('(') => format!("{rest}\n"),
            Some(_) => String::new(),
            None => format!("{line}\n"),
        })
        .collect();
    let bare = file(dir.path(), "bare.toml", &bare);
    let settings = Settings::of_file(&bare.path).unwrap().settings;
    assert_eq!(settings.run.threads, Some(8));
    assert_eq!(settings.keys[0].keys, ["f"]);
}

#[test]
fn keys_of_a_later_file_replace_those_of_an_earlier() {
    let dir = tempfile::tempdir().unwrap();
    let files = [
        file(
            dir.path(),
            "a.toml",
            "[keys]\nwatch.follow = [\"x\"]\nruns.sort = \"o\"\n",
        ),
        file(dir.path(), "b.toml", "[keys.watch]\nfollow = [\"y\"]\n"),
    ];
    let settings = Settings::layered(&files, &|_| None).unwrap().settings;
    let said: Vec<_> = settings
        .keys
        .iter()
        .map(|key| (key.action.as_str(), key.keys.clone()))
        .collect();
    assert_eq!(said, [("sort", vec!["o".to_owned()]), ("follow", vec!["y".to_owned()])]);
    assert!(settings.keys[1].origin().ends_with("b.toml:2"));
}
