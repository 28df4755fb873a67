//! `automem adapter`: what a LoRA adapter is, and the way from and to PEFT's form.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Subcommand;
use serde_json::json;

use super::model::find;
use super::output::{print_json, print_text};
use crate::config::Workspace;
use crate::llm::adapter::{self, AdapterInfo, peft};
use crate::llm::gguf::Header;
use crate::protocol::sanitize::{clean, clean_line};

/// Arguments of `automem adapter`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// What an adapter changes, and whether it fits a model
    Info {
        /// A GGUF adapter, or the name of one in the workspace
        file: PathBuf,
        /// The model it should fit: a name, or the path of a GGUF file
        #[arg(long, value_name = "MODEL")]
        base: Option<String>,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Turn what PEFT or LLaMA-Factory saved into a GGUF adapter
    Import {
        /// The folder with adapter_config.json and adapter_model.safetensors
        dir: PathBuf,
        /// The model it was trained on: a name, or the path of a GGUF file
        #[arg(long, value_name = "MODEL")]
        base: String,
        /// The GGUF adapter [default: the folder's name in the workspace's adapters]
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Turn a GGUF adapter into PEFT's form, for torch and for vLLM's --enable-lora
    Export {
        /// A GGUF adapter, or the name of one in the workspace
        file: PathBuf,
        /// The new folder
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
        /// The model it belongs to: a name, or the path of a GGUF file. Needed for the architecture llama
        #[arg(long, value_name = "MODEL")]
        base: Option<String>,
        /// The model's name or folder for torch and vLLM, such as Qwen/Qwen2.5-32B-Instruct
        #[arg(long, value_name = "NAME")]
        hf_model: Option<String>,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
}

/// Runs the verb.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let workspace = Workspace::find()?;
    match args.verb {
        Verb::Info { file, base, json } => info(&named(&file, &workspace), base.as_deref(), &workspace, json),
        Verb::Import { dir, base, out, json } => import(&dir, &base, out, &workspace, json),
        Verb::Export {
            file,
            out,
            base,
            hf_model,
            json,
        } => {
            let adapter = adapter::read(&named(&file, &workspace))?;
            let header = base.map(|base| header(&base, &workspace)).transpose()?;
            let written = peft::export(&adapter, header.as_ref(), hf_model.as_deref(), &out)?;
            if json {
                let modules = &written.modules;
                print_json(
                    &json!({"folder": out, "rank": written.rank, "tensors": written.tensors, "modules": modules}),
                )?;
            } else {
                print_text(&clean(&format!(
                    "{} ({} tensors, rank {}, {})\n",
                    out.display(),
                    written.tensors,
                    written.rank,
                    written.modules.join(" ")
                )))?;
            }
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// The file that is meant: a path, or a name in the workspace.
fn named(file: &Path, workspace: &Workspace) -> PathBuf {
    let is_name = file.components().count() == 1 && !file.is_file();
    let inside = workspace.adapters_dir().join(file).with_extension("gguf");
    if is_name && inside.is_file() {
        inside
    } else {
        file.to_owned()
    }
}

fn header(model: &str, workspace: &Workspace) -> anyhow::Result<Header> {
    Ok(Header::open(&find(model, workspace)?.path)?)
}

/// Prints what an adapter is. 1 when it does not fit the model that was named.
fn info(file: &Path, base: Option<&str>, workspace: &Workspace, json: bool) -> anyhow::Result<ExitCode> {
    let info = adapter::inspect(file)?;
    let fit = match base {
        Some(base) => Some(adapter::fits(&info, &header(base, workspace)?)),
        None => None,
    };
    if json {
        let mut value = about(&info);
        if let Some(fit) = &fit {
            value["fits"] = json!(fit.is_ok());
            value["why_not"] = json!(fit.as_ref().err());
        }
        value["matrices"] = json!(info.tensors);
        print_json(&value)?;
    } else {
        let mut text = words(&info);
        if let (Some(fit), Some(base)) = (&fit, base) {
            let base = clean_line(base);
            text.push_str(&match fit {
                Ok(()) => format!("{:<14} {base}\n", "fits"),
                Err(why) => format!("{:<14} {base}: {why}\n", "does not fit"),
            });
        }
        print_text(&clean(&text))?;
    }
    Ok(match fit {
        Some(Err(_)) => ExitCode::FAILURE,
        _ => ExitCode::SUCCESS,
    })
}

/// Kinds of matrices with how many there are: `attn_q` 30.
fn kinds(info: &AdapterInfo) -> Vec<(String, usize)> {
    let mut kinds: Vec<(String, usize)> = Vec::new();
    for tensor in &info.tensors {
        let name = tensor.target.trim_end_matches(".weight");
        let kind = name.rsplit('.').next().unwrap_or(name);
        match kinds.iter_mut().find(|(known, _)| known == kind) {
            Some((_, count)) => *count += 1,
            None => kinds.push((kind.to_owned(), 1)),
        }
    }
    kinds
}

fn about(info: &AdapterInfo) -> serde_json::Value {
    let targets: serde_json::Map<String, serde_json::Value> = kinds(info)
        .into_iter()
        .map(|(kind, count)| (kind, json!(count)))
        .collect();
    json!({
        "architecture": info.architecture,
        "rank": info.rank,
        "alpha": info.alpha,
        "targets": targets,
        "parameters": info.parameters(),
        "base": info.base,
        "digest": info.digest,
    })
}

fn words(info: &AdapterInfo) -> String {
    let targets: Vec<String> = kinds(info)
        .iter()
        .map(|(kind, count)| format!("{kind} x{count}"))
        .collect();
    let mut text = String::new();
    let mut line = |name: &str, value: String| text.push_str(&format!("{name:<14} {}\n", clean_line(&value)));
    line("architecture", info.architecture.clone());
    line("rank", info.rank.to_string());
    line("alpha", info.alpha.to_string());
    line("targets", targets.join(", "));
    line("parameters", info.parameters().to_string());
    if let Some(base) = &info.base {
        line("base", base.clone());
    }
    line("digest", info.digest.to_string());
    text
}

fn import(dir: &Path, base: &str, out: Option<PathBuf>, workspace: &Workspace, json: bool) -> anyhow::Result<ExitCode> {
    let adapter = peft::import(dir, &header(base, workspace)?)?;
    let out = match out {
        Some(out) => out,
        None => {
            let full = std::fs::canonicalize(dir).with_context(|| format!("{} cannot be found", dir.display()))?;
            let name = full
                .file_name()
                .context("the folder has no name; give --out FILE.gguf")?;
            let mut file = name.to_owned();
            file.push(".gguf");
            workspace.adapters_dir().join(file)
        }
    };
    if out.symlink_metadata().is_ok() {
        bail!(
            "{} exists already; choose another name with --out FILE.gguf",
            out.display()
        );
    }
    let info = adapter.info(adapter::write(&out, &adapter)?);
    if json {
        let mut value = about(&info);
        value["file"] = json!(out);
        print_json(&value)?;
    } else {
        let text = format!("{}\n{}", out.display(), words(&info));
        print_text(&clean(&text))?;
    }
    Ok(ExitCode::SUCCESS)
}
