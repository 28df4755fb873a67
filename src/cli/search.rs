//! `automem search`: find a text anywhere in a run.

use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::json;

use super::output;
use crate::jobs::Cancel;
use crate::protocol::sanitize::clean;
use crate::store::{Hit, Reader};

/// Find a text in a run: observations, prompts, answers, memory operations and actions.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The run file
    run: PathBuf,
    /// What to look for; capitals and small letters are alike
    text: String,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let reader = Reader::open(&args.run)?;
    let hits = reader.search(&args.text, &Cancel::new(), &mut |_| {})?;
    if args.json {
        let hits: Vec<_> = hits.iter().map(as_json).collect();
        output::print_json(&json!({ "text": args.text, "hits": hits }))?;
    } else {
        let mut out = String::new();
        for hit in &hits {
            let (episode, step, place) = (hit.episode, hit.step, &hit.place);
            out.push_str(&format!(
                "{episode}:{step} {place}: {}\n",
                hit.excerpt.replace('\n', " ")
            ));
        }
        if hits.is_empty() {
            out.push_str("nothing found\n");
        }
        output::print_text(&clean(&out))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn as_json(hit: &Hit) -> serde_json::Value {
    json!({
        "episode": hit.episode,
        "step": hit.step,
        "place": hit.place.to_string(),
        "excerpt": hit.excerpt,
    })
}
