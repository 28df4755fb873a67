//! How proposals are printed, for people and as JSON.

use serde_json::{Value, json};

use crate::cli::output::{print_json, print_text};
use crate::protocol::sanitize::clean;
use crate::review::{Dossier, Entry, GateReport, PartStanding, Standing, State, Verdict, What};

/// A proposal in the list, as JSON.
pub(super) fn head(standing: &Standing) -> Value {
    json!({
        "id": standing.id, "kind": standing.kind, "state": standing.state, "title": standing.title,
        "author": standing.author, "created": standing.created, "line": standing.line, "parent": standing.parent,
        "parent_digest": standing.parent_digest, "result": standing.result, "extent": standing.extent,
        "parts": standing.parts.len(), "waiting": standing.waiting(),
        "gate": standing.gate.as_ref().map(|gate| json!({
            "outcome": gate.outcome, "parent_mean": gate.parent_mean, "revision_mean": gate.revision_mean,
            "difference": gate.difference, "interval": gate.interval, "sign_p": gate.sign_p,
        })),
        "why": standing.why,
    })
}

/// The list for people.
pub(super) fn list(all: &[Standing]) -> String {
    if all.is_empty() {
        return "no proposals yet; `automem optimize --env crafter --scaffold crafter-v0 --meta rules` makes some\n"
            .to_owned();
    }
    let mut out = String::new();
    for standing in all {
        let parts = match standing.state {
            State::Pending => format!("{} of {} parts wait", standing.waiting(), standing.parts.len()),
            _ => format!("{} parts", standing.parts.len()),
        };
        out.push_str(&format!(
            "{:<5} {:<12} {:<20} {parts:<20} {}\n",
            standing.id.to_string(),
            standing.state.word(),
            standing.line,
            standing.title.replace('\n', " "),
        ));
    }
    out
}

/// A proposal in full.
pub(super) fn dossier(dossier: &Dossier, as_json: bool) -> anyhow::Result<()> {
    let standing = &dossier.standing;
    if as_json {
        let mut value = head(standing);
        let draft = &dossier.proposal.draft;
        value["rationale"] = json!(draft.rationale);
        value["evidence"] = json!(draft.evidence);
        value["usage"] = json!(draft.usage);
        value["origin"] = json!(draft.origin);
        value["parts"] = standing.parts.iter().map(part_json).collect();
        value["comments"] = json!(standing.comments);
        value["problems"] = json!(standing.problems);
        value["gate"] = json!(standing.gate);
        value["seq"] = json!(standing.seq);
        return print_json(&value);
    }
    print_text(&clean(&text(dossier)))
}

fn part_json(slot: &PartStanding) -> Value {
    let mut value = json!(slot.part);
    value["decision"] = json!(slot.decision);
    value
}

fn text(dossier: &Dossier) -> String {
    let (standing, draft) = (&dossier.standing, &dossier.proposal.draft);
    let mut out = format!("{} {}: {}\n", standing.id, standing.state.word(), draft.title);
    out.push_str(&format!(
        "by {}, {}; {} made from {} ({})\n",
        draft.author,
        dossier.proposal.created,
        if standing.line.is_empty() {
            "a folder"
        } else {
            &standing.line
        },
        standing.parent,
        standing.parent_digest.short()
    ));
    if !standing.why.is_empty() {
        out.push_str(&format!("{}\n", standing.why));
    }
    if !draft.rationale.trim().is_empty() {
        out.push_str(&format!("\n{}\n", draft.rationale.trim()));
    }
    if !draft.evidence.is_empty() {
        out.push_str("\nEvidence:\n");
        for item in &draft.evidence {
            out.push_str(&format!(
                "  {} {}:{} {}\n",
                item.run, item.episode, item.step, item.note
            ));
        }
    }
    for slot in &standing.parts {
        out.push_str(&part(slot));
    }
    for comment in &standing.comments {
        let about = comment
            .part
            .as_ref()
            .map(|part| format!(" on {part}"))
            .unwrap_or_default();
        out.push_str(&format!("\n{}{about}: {}\n", comment.by, comment.text));
    }
    if !standing.problems.is_empty() {
        out.push_str("\nIt cannot work:\n");
        for problem in &standing.problems {
            out.push_str(&format!("  {problem}\n"));
        }
    }
    if let Some(gate) = &standing.gate {
        out.push_str(&gate_table(gate));
    }
    out.push_str(&next(standing));
    out
}

fn part(slot: &PartStanding) -> String {
    let part = &slot.part;
    let said = match &slot.decision {
        None => "waits".to_owned(),
        Some(decision) => {
            let mut said = match &decision.verdict {
                Verdict::Reject { reason } => format!("rejected ({})", reason.word()),
                Verdict::Accept => "accepted".to_owned(),
                Verdict::Edit { .. } => "edited".to_owned(),
            };
            said.push_str(&format!(" by {}", decision.by));
            if !decision.comment.is_empty() {
                said.push_str(&format!(": {}", decision.comment));
            }
            said
        }
    };
    let mut out = format!(
        "\n{} (line {}, digest {}): {said}\n",
        part.id,
        part.old_start + 1,
        part.digest
    );
    let mut line = |sign: char, text: &str| {
        out.push(sign);
        out.push_str(text.trim_end_matches(['\n', '\r']));
        out.push('\n');
    };
    part.deleted.iter().for_each(|text| line('-', text));
    match slot.decision.as_ref().map(|decision| &decision.verdict) {
        Some(Verdict::Edit { text }) => text.lines().for_each(|text| line('+', text)),
        _ => part.inserted.iter().for_each(|text| line('+', text)),
    }
    out
}

fn gate_table(gate: &GateReport) -> String {
    let mut out = "\nGate:\n  seed        parent  revision  difference\n".to_owned();
    for pair in &gate.pairs {
        let percent = |score: Option<f64>| score.map_or("-".to_owned(), |score| format!("{:.1} %", score * 100.0));
        let (a, b) = (
            pair.parent.map(|score| score.progression),
            pair.revision.map(|score| score.progression),
        );
        let difference = a
            .zip(b)
            .map_or("-".to_owned(), |(a, b)| format!("{:+.1}", (b - a) * 100.0));
        out.push_str(&format!(
            "  {:<8} {:>9} {:>9} {difference:>11}\n",
            pair.seed,
            percent(a),
            percent(b)
        ));
    }
    out.push_str(&format!(
        "  mean     {:>7.1} % {:>7.1} % {:>+11.1}  (95 % {:+.1} to {:+.1}; better on {}, worse on {}, equal on {}, \
         sign test p {:.3})\n  {}\n",
        gate.parent_mean * 100.0,
        gate.revision_mean * 100.0,
        gate.difference * 100.0,
        gate.interval.0 * 100.0,
        gate.interval.1 * 100.0,
        gate.wins,
        gate.losses,
        gate.ties,
        gate.sign_p,
        gate.outcome.word()
    ));
    out
}

fn next(standing: &Standing) -> String {
    let id = &standing.id;
    match standing.state {
        State::Pending => format!(
            "\nNext: automem proposals decide {id} --part PART --accept (or --reject REASON, or --edit FILE), or open \
             automem and press 3\n"
        ),
        State::Checked => format!("\nNext: automem proposals gate {id}, or apply {id} --overrule REASON\n"),
        State::Gated if standing.is_better() => format!("\nNext: automem proposals apply {id}\n"),
        State::Gated => format!("\nNext: automem proposals discard {id} REASON, or apply {id} --overrule REASON\n"),
        State::CheckFailed => format!("\nNext: automem proposals undo {id}, then decide otherwise\n"),
        State::Promoted => format!("\nautomem proposals undo {id} brings the head before it back\n"),
        _ => String::new(),
    }
}

/// The log for people.
pub(super) fn log(entries: &[Entry]) -> String {
    let mut out = String::new();
    for entry in entries {
        let more = match &entry.what {
            What::Decided {
                part,
                comment,
                policy,
                verdict,
                ..
            } => {
                let mut more = format!(" {part}");
                if let Verdict::Reject { reason } = verdict {
                    more.push_str(&format!(" ({})", reason.word()));
                }
                if !comment.is_empty() {
                    more.push_str(&format!(": {comment}"));
                }
                if let Some(policy) = policy {
                    more.push_str(&format!(" [policy {policy}]"));
                }
                more
            }
            What::Split { part } => format!(" {part}"),
            What::Undone { seq } => format!(" (entry {})", seq.0),
            What::Commented { text, .. } => format!(": {text}"),
            What::Promoted { to, overrule, .. } if overrule.is_empty() => format!(" ({})", to.short()),
            What::Promoted { to, overrule, .. } => format!(" ({}), overruling: {overrule}", to.short()),
            What::Gated { report } => format!(": {}", report.outcome.word()),
            What::Discarded { why } | What::ApplyFailed { why } | What::GateStopped { why } => format!(": {why}"),
            _ => String::new(),
        };
        out.push_str(&format!(
            "{:>4} {} {} {} {}{more}\n",
            entry.seq.0,
            entry.time,
            entry.proposal,
            entry.by,
            entry.what.word()
        ));
    }
    if out.is_empty() {
        out.push_str("nothing happened yet\n");
    }
    out
}
