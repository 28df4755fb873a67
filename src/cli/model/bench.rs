//! `automem model bench`: tokens a second through the engine that plays.

use std::process::ExitCode;

/// Arguments of `automem model bench`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A name from `automem model list`, or the path of a GGUF file
    #[arg(default_value = "smollm2-135m")]
    model: String,
    /// Prompt tokens
    #[arg(long, default_value_t = 512)]
    prompt: u32,
    /// Tokens to write
    #[arg(long, default_value_t = 128)]
    decode: u32,
    /// Tokens in the cache before the clock starts; several, with commas
    #[arg(long, value_delimiter = ',', default_values_t = [0, 1300])]
    depth: Vec<u32>,
    /// Times each is measured; the median counts
    #[arg(long, default_value_t = 3)]
    repeat: u32,
    /// Threads; by default one a physical core
    #[arg(long)]
    threads: Option<u32>,
    /// Flash attention: on or off; by default llama.cpp decides
    #[arg(long, value_parser = clap::builder::BoolishValueParser::new())]
    flash: Option<bool>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[cfg(not(feature = "llama"))]
pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    super::find(&args.model, &super::workspace()?)?;
    anyhow::bail!(
        "this build of automem is a viewer without llama.cpp; build it with its default features to run models"
    )
}

#[cfg(feature = "llama")]
pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    use serde_json::json;

    use super::super::output;
    use crate::llm::ChatModel;
    use crate::llm::ModelOptions;
    use crate::llm::llama::{LlamaModel, Workload, default_threads};

    let workspace = super::workspace()?;
    let found = super::find(&args.model, &workspace)?;
    let deepest = args.depth.iter().copied().max().unwrap_or(0);
    let options = ModelOptions {
        threads: args.threads,
        context: Some((deepest + args.prompt.max(args.decode) + 64).next_multiple_of(256)),
        slots: Some(1),
        flash_attention: args.flash,
        ..ModelOptions::in_workspace(&workspace)
    };
    let model = LlamaModel::open(&found.path, &options)?;
    let cancel = super::cancel_on_signals()?;
    // The first evaluation reads the file in; it does not count.
    model.measure(
        Workload {
            depth: 0,
            prompt: 64,
            decode: 8,
        },
        &cancel,
    )?;
    let mut rows = Vec::new();
    for depth in &args.depth {
        let workload = Workload {
            depth: *depth,
            prompt: args.prompt,
            decode: args.decode,
        };
        let mut prompt = Vec::new();
        let mut decode = Vec::new();
        for _ in 0..args.repeat.max(1) {
            let measured = model.measure(workload, &cancel)?;
            prompt.extend(measured.prompt_tokens_per_s);
            decode.extend(measured.decode_tokens_per_s);
        }
        rows.push((workload, median(&mut prompt), median(&mut decode)));
    }
    let threads = args.threads.unwrap_or_else(default_threads);
    if args.json {
        let rows: Vec<_> = rows
            .iter()
            .map(|(workload, prompt, decode)| {
                json!({
                    "depth": workload.depth, "prompt": workload.prompt, "decode": workload.decode,
                    "prompt_tokens_per_s": prompt, "decode_tokens_per_s": decode,
                })
            })
            .collect();
        output::print_json(&json!({"model": model.describe(), "threads": threads, "rows": rows}))?;
    } else {
        let mut text = format!("{} on {threads} threads\n", model.describe().name);
        for (workload, prompt, decode) in rows {
            let speed = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.1}"));
            text.push_str(&format!(
                "at depth {:>5}: prompt of {} {:>8} tokens/s   answer of {} {:>8} tokens/s\n",
                workload.depth,
                workload.prompt,
                speed(prompt),
                workload.decode,
                speed(decode)
            ));
        }
        output::print_text(&text)?;
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(feature = "llama")]
fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}
