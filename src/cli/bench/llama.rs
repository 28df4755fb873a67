//! `automem bench llama`: prompt and decode speed through our engine, beside llama.cpp's own bench when that is there.
//!
//! The two take turns, so that a machine that is busy for a while is busy for both; medians are compared.

use std::path::PathBuf;

/// Arguments of `automem bench llama`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A model's name or the path of a GGUF file
    #[arg(long, default_value = "smollm2-135m")]
    model: String,
    /// llama.cpp's `llama-bench`, to compare with
    #[arg(long, value_name = "PATH")]
    llama_bench: Option<PathBuf>,
    /// Prompt tokens
    #[arg(long, default_value_t = 512)]
    prompt: u32,
    /// Tokens to write
    #[arg(long, default_value_t = 128)]
    decode: u32,
    /// Tokens in the cache before the clock starts; several can be given
    #[arg(long, value_delimiter = ',', default_values_t = [0, 1300])]
    depth: Vec<u32>,
    /// Pairs of measurements
    #[arg(long, default_value_t = 10)]
    pairs: u32,
    /// Threads; by default one a physical core
    #[arg(long)]
    threads: Option<u32>,
}

#[cfg(not(feature = "llama"))]
pub(super) fn measure(_: &Args) -> anyhow::Result<Vec<super::Figure>> {
    anyhow::bail!(
        "this build of automem is a viewer without llama.cpp; build it with its default features to run models"
    )
}

#[cfg(feature = "llama")]
pub(super) use with_llama::measure;

#[cfg(feature = "llama")]
mod with_llama {
    use std::path::Path;
    use std::process::{Command, Stdio};

    use anyhow::{Context, bail};

    use super::super::Figure;
    use super::Args;
    use crate::config::Workspace;
    use crate::jobs::Cancel;
    use crate::llm::ModelOptions;
    use crate::llm::catalog;
    use crate::llm::llama::{LlamaModel, Workload, default_threads};

    /// The share of llama-bench's speed that must be reached.
    const TARGET: f64 = 0.9;

    /// Medians of one workload.
    #[derive(Default)]
    struct Series {
        prompt: Vec<f64>,
        decode: Vec<f64>,
    }

    pub(in super::super) fn measure(args: &Args) -> anyhow::Result<Vec<Figure>> {
        let workspace = Workspace::find()?;
        let named = catalog::path_of(&workspace.models_dir(), &args.model).filter(|path| path.is_file());
        let path = named.unwrap_or_else(|| args.model.clone().into());
        let threads = args.threads.unwrap_or_else(default_threads);
        let deepest = args.depth.iter().copied().max().unwrap_or(0);
        let options = ModelOptions {
            threads: Some(threads),
            context: Some((deepest + args.prompt.max(args.decode) + 64).next_multiple_of(256)),
            slots: Some(1),
            ..ModelOptions::in_workspace(&workspace)
        };
        let model = LlamaModel::open(&path, &options)?;
        let cancel = Cancel::new();
        model.measure(
            Workload {
                depth: 0,
                prompt: 64,
                decode: 8,
            },
            &cancel,
        )?;
        let mut figures = Vec::new();
        for depth in &args.depth {
            let mut ours = Series::default();
            let mut theirs = Series::default();
            for _ in 0..args.pairs.max(1) {
                let workload = Workload {
                    depth: *depth,
                    prompt: args.prompt,
                    decode: args.decode,
                };
                let measured = model.measure(workload, &cancel)?;
                ours.prompt.extend(measured.prompt_tokens_per_s);
                ours.decode.extend(measured.decode_tokens_per_s);
                if let Some(bench) = &args.llama_bench {
                    let (prompt, decode) = llama_bench(bench, &path, &workload, threads)?;
                    theirs.prompt.extend(prompt);
                    theirs.decode.extend(decode);
                }
            }
            report(&mut figures, "prompt", *depth, &mut ours.prompt, &mut theirs.prompt);
            report(&mut figures, "decode", *depth, &mut ours.decode, &mut theirs.decode);
        }
        Ok(figures)
    }

    fn report(figures: &mut Vec<Figure>, what: &str, depth: u32, ours: &mut [f64], theirs: &mut [f64]) {
        let Some(own) = median(ours) else { return };
        figures.push(Figure::new(format!("{what}_at_{depth}"), own, "tokens/s"));
        if let Some(other) = median(theirs) {
            figures.push(Figure::new(format!("llama_bench_{what}_at_{depth}"), other, "tokens/s"));
            figures.push(Figure::new(format!("{what}_ratio_at_{depth}"), own / other, "ratio").at_least(TARGET));
        }
    }

    /// Runs llama-bench once; prompt and decode tokens a second.
    fn llama_bench(
        bench: &Path,
        model: &Path,
        workload: &Workload,
        threads: u32,
    ) -> anyhow::Result<(Option<f64>, Option<f64>)> {
        let output = Command::new(bench)
            .arg("-m")
            .arg(model)
            .args(["-p", &workload.prompt.to_string(), "-n", &workload.decode.to_string()])
            .args(["-d", &workload.depth.to_string(), "-t", &threads.to_string()])
            .args(["-r", "1", "-o", "json"])
            .stdin(Stdio::null())
            .output()
            .with_context(|| format!("{} could not be run", bench.display()))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let last: Vec<&str> = said.lines().rev().take(3).collect();
            bail!("llama-bench failed: {}", last.join("; "));
        }
        let rows: Vec<serde_json::Value> =
            serde_json::from_slice(&output.stdout).context("llama-bench's answer is not JSON")?;
        let speed = |field: &str| {
            rows.iter()
                .find(|row| row[field].as_u64().is_some_and(|count| count > 0))
                .and_then(|row| row["avg_ts"].as_f64())
        };
        Ok((speed("n_prompt"), speed("n_gen")))
    }

    fn median(values: &mut [f64]) -> Option<f64> {
        values.sort_by(f64::total_cmp);
        let middle = values.len() / 2;
        match values.len() {
            0 => None,
            len if len % 2 == 1 => Some(values[middle]),
            _ => Some((values[middle - 1] + values[middle]) / 2.0),
        }
    }
}
