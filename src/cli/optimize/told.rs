//! What an optimization tells, as lines for people or as JSON lines.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use crate::cli::output::print_text;
use crate::evolve::ReviserNews;
use crate::evolve::session::{Ending, News};
use crate::gate::GateNews;
use crate::protocol::sanitize::{clean, clean_line};
use crate::review::GateReport;

/// Times between two lines on a terminal that come and go.
const PAUSE: Duration = Duration::from_millis(100);
/// Times between two JSON lines on the steps of an episode.
const JSON_PAUSE: Duration = Duration::from_secs(1);

/// Tells.
pub(in crate::cli) struct Teller {
    json: bool,
    terminal: bool,
    shown: Option<Instant>,
    /// What a reviser says comes in pieces.
    saying: bool,
}

impl Teller {
    pub(in crate::cli) fn new(json: bool) -> Self {
        Self {
            json,
            terminal: std::io::stderr().is_terminal(),
            shown: None,
            saying: false,
        }
    }

    pub(in crate::cli) fn tell(&mut self, news: &News) {
        // A reader that went away (`| head`) does not stop the work.
        if self.json {
            if !self.is_fleeting(news) || self.is_time(JSON_PAUSE) {
                let line = serde_json::to_string(news).unwrap_or_default();
                drop(print_text(&format!("{line}\n")));
            }
            return;
        }
        if let News::Reviser {
            reviser: ReviserNews::Says { text },
        } = news
        {
            self.clear();
            self.saying = true;
            eprint!("{}", clean(text));
            return;
        }
        if std::mem::take(&mut self.saying) {
            eprintln!();
        }
        if self.is_fleeting(news) {
            if self.terminal && self.is_time(PAUSE) {
                eprint!("\r\x1b[K{}", clean_line(&line(news)));
                // A line of progress that cannot be written is no loss.
                drop(std::io::stderr().flush());
            }
            return;
        }
        let text = line(news);
        if text.is_empty() {
            return;
        }
        self.clear();
        drop(print_text(&format!("{}\n", clean(text.trim_end()))));
    }

    /// Takes away the line that comes and goes.
    pub(in crate::cli) fn end(&mut self) {
        self.clear();
    }

    fn clear(&self) {
        if self.terminal && !self.json && self.shown.is_some() {
            eprint!("\r\x1b[K");
        }
    }

    fn is_time(&mut self, pause: Duration) -> bool {
        let due = self.shown.is_none_or(|at| at.elapsed() >= pause);
        if due {
            self.shown = Some(Instant::now());
        }
        due
    }

    /// Whether it is told to show that something goes on, and no more.
    fn is_fleeting(&self, news: &News) -> bool {
        matches!(
            news,
            News::Gate {
                gate: GateNews::Episode { end: None, .. }
            } | News::Reviser {
                reviser: ReviserNews::Used { .. }
            }
        )
    }
}

fn percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

fn line(news: &News) -> String {
    match news {
        News::Optimizing { name, stage } => format!("{name}: {stage}"),
        News::Parent {
            iteration,
            scaffold,
            reused,
        } => match reused {
            Some(run) => format!("iteration {iteration}: {scaffold} was played with all the same before: {run}"),
            None => format!("iteration {iteration}: playing {scaffold}"),
        },
        News::Evaluated { mean, run } => format!("  mean progression {} ({run})", percent(*mean)),
        News::Gate { gate } => match gate {
            GateNews::Playing { side, run, resumed } => format!(
                "  {} of the {}: {run}",
                if *resumed { "going on with the run" } else { "run" },
                side.word()
            ),
            GateNews::Episode {
                side,
                seed,
                step,
                progression,
                end,
            } => format!(
                "  {} seed {seed} step {step} progression {}{}",
                side.word(),
                percent(*progression),
                end.map_or_else(String::new, |end| format!(": {end}"))
            ),
            GateNews::Trouble {
                side,
                seed,
                step,
                message,
            } => format!("  {} seed {seed} step {step}: {message}", side.word()),
        },
        News::Revising {
            iteration,
            attempt,
            continuation,
        } => format!(
            "iteration {iteration}, attempt {attempt}{}: a revision is written",
            if *continuation {
                " (continued, with what became of it)"
            } else {
                ""
            }
        ),
        News::Reviser { reviser } => match reviser {
            ReviserNews::Called { what, outcome } => format!("  {what}: {outcome}"),
            ReviserNews::Used { usage } => format!("  {} tokens so far", usage.prompt + usage.completion),
            ReviserNews::Says { text } => text.clone(),
        },
        News::Failed { why } => format!("  no revision: {why}"),
        News::Proposed { proposal, title, parts } => format!("  {proposal} ({parts} parts): {title}"),
        News::Waiting { proposal, parts } => format!(
            "waiting for decisions on {proposal} ({parts} parts left): look with `automem proposals show {proposal}`, decide \
             with\n  automem proposals decide {proposal} --part PART --accept | --reject REASON | --edit FILE\n  automem proposals \
             decide {proposal} --all --accept"
        ),
        News::Decided { proposal, policy } => {
            format!("  {proposal}: the policy {} decided on every part", policy.word())
        }
        News::Gated { proposal, report } => format!("gate of {proposal}: {}\n{}", report.outcome.word(), table(report)),
        News::Settled {
            proposal,
            ending,
            outcome,
        } => match ending {
            Ending::Promoted => format!("{proposal} is promoted"),
            Ending::NotBetter => format!(
                "{proposal} is not promoted; against the gate: `automem proposals apply {proposal} --overrule REASON`"
            ),
            Ending::CheckFailed | Ending::Refused | Ending::Stale => format!("{proposal}: {outcome}"),
        },
        News::Over { why, promoted } => {
            let list: Vec<String> = promoted.iter().map(ToString::to_string).collect();
            let list = if list.is_empty() {
                "nothing was promoted".to_owned()
            } else {
                format!("promoted: {}", list.join(", "))
            };
            format!("over: {why}; {list}")
        }
    }
}

/// The paired table.
pub(super) fn table(report: &GateReport) -> String {
    let mut text = format!(
        "{:>8} {:>9} {:>9} {:>8} {:>10} {:>10} {:>8} {:>8}\n",
        "seed", "parent", "revision", "diff", "tokens", "tokens", "s", "s"
    );
    for pair in &report.pairs {
        let score = |score: Option<crate::review::Score>| {
            score.map_or_else(|| "-".to_owned(), |score| percent(score.progression))
        };
        let diff = match (pair.parent, pair.revision) {
            (Some(parent), Some(revision)) => format!("{:+.1}", (revision.progression - parent.progression) * 100.0),
            _ => "-".to_owned(),
        };
        let tokens = |score: Option<crate::review::Score>| {
            score.map_or_else(|| "-".to_owned(), |score| score.tokens.to_string())
        };
        let seconds = |score: Option<crate::review::Score>| {
            score.map_or_else(|| "-".to_owned(), |score| format!("{:.1}", score.seconds))
        };
        text.push_str(&format!(
            "{:>8} {:>9} {:>9} {:>8} {:>10} {:>10} {:>8} {:>8}\n",
            pair.seed,
            score(pair.parent),
            score(pair.revision),
            diff,
            tokens(pair.parent),
            tokens(pair.revision),
            seconds(pair.parent),
            seconds(pair.revision)
        ));
    }
    text.push_str(&format!(
        "mean {} +- {} against {} +- {}; difference {:+.1} (95% {:+.1} to {:+.1}); {} better, {} worse, {} equal; sign test p {:.3}{}\n",
        percent(report.revision_mean),
        percent(report.revision_error),
        percent(report.parent_mean),
        percent(report.parent_error),
        report.difference * 100.0,
        report.interval.0 * 100.0,
        report.interval.1 * 100.0,
        report.wins,
        report.losses,
        report.ties,
        report.sign_p,
        if report.parent_reused {
            "; the parent's run is an earlier one"
        } else {
            ""
        },
    ));
    text
}
