//! The desk and selections: keeping lists of items, deciding on them, committing.

use super::decision::{Entry, Reason, Seq, Verdict, What};
use super::desk::{Desk, Dossier};
use super::error::ReviewError;
use super::proposal::{Content, ProposalId};
use super::selection::{Item, Places, SelectionContent, items_digest};
use super::stamp;
use crate::scaffold::{digest_of, files_problem, sound_name};
use crate::store::StoreError;

/// Format of a stored list.
const FORMAT: u64 = 1;

/// What a person says of items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// Which.
    pub items: Places,
    /// Accept, or reject with a reason.
    pub reject: Option<Reason>,
    /// In words; may be empty.
    pub comment: String,
    /// The filter that chose them; empty for a single one.
    pub filter: String,
    /// The policy that decides in a person's place.
    pub policy: Option<String>,
}

/// Brings a draft's content into the form that is kept.
pub(super) fn fit(content: &mut Content, items: &[Item]) -> Result<(), ReviewError> {
    let unfit = |why: String| Err(ReviewError::Unfit(why));
    let (files, what) = match content {
        Content::Selection(selection) => return fit_selection(selection, items),
        Content::Revision(files) => {
            files.files = stamp::like(std::mem::take(&mut files.files), &files.base);
            (files, "a scaffold's")
        }
        Content::Recipe(files) => (files, "a specialist's"),
    };
    if !items.is_empty() {
        return unfit("only a selection has items".to_owned());
    }
    if files.files == files.base {
        return unfit(
            "it changes no file of its parent (name, version and parent of the manifest do not count)".to_owned(),
        );
    }
    if let Some((path, why)) = files_problem(&files.files) {
        return unfit(format!("{path}: {why}"));
    }
    if !files.line.is_empty() && !sound_name(&files.line) {
        return unfit(format!(
            "`{}` cannot be {what} name; use letters, digits, `-`, `_` and `.`",
            files.line
        ));
    }
    Ok(())
}

fn fit_selection(selection: &mut SelectionContent, items: &[Item]) -> Result<(), ReviewError> {
    let unfit = |why: &str| Err(ReviewError::Unfit(why.to_owned()));
    if items.is_empty() {
        return unfit("the selection holds no item; play episodes first (`automem run`)");
    }
    let Ok(count) = u32::try_from(items.len()) else {
        return unfit("the selection holds too many items");
    };
    if items.iter().any(|item| item.run as usize >= selection.runs.len()) {
        return unfit("an item is from a run that the selection does not name");
    }
    selection.items = items_digest(items);
    selection.count = count;
    selection.selected = u32::try_from(items.iter().filter(|item| item.selected).count()).unwrap_or(count);
    Ok(())
}

impl Dossier {
    /// The selection.
    ///
    /// # Errors
    /// When it is something else.
    pub fn selection(&self) -> Result<&SelectionContent, ReviewError> {
        match &self.proposal.draft.content {
            Content::Selection(selection) => Ok(selection),
            other => Err(ReviewError::OtherKind {
                id: self.proposal.id.clone(),
                is: other.word(),
                wanted: "selection",
            }),
        }
    }
}

impl Desk {
    /// A list of items as it is kept.
    pub(super) fn packed(&self, content: &Content, items: &[Item]) -> Result<Option<Vec<u8>>, ReviewError> {
        if !matches!(content, Content::Selection(_)) {
            return Ok(None);
        }
        let body = serde_json::json!({ "format": FORMAT, "items": items }).to_string();
        let body =
            zstd::encode_all(body.as_bytes(), 6).map_err(|error| StoreError::io(&self.path, "written", &error))?;
        Ok(Some(body))
    }

    /// The items of a selection, in order.
    ///
    /// # Errors
    /// When it is no selection, or the list cannot be read or is not the one that was proposed.
    pub fn items(&self, dossier: &Dossier) -> Result<Vec<Item>, ReviewError> {
        let selection = dossier.selection()?;
        let what = format!("the list of items of {}", dossier.proposal.id);
        let broken = |why: &str| self.broken(&what, why);
        let number = self.number(&dossier.proposal.id)?;
        let body: Vec<Vec<u8>> = self.rows("SELECT body FROM item_lists WHERE proposal = ?1", [number], |row| {
            row.get(0)
        })?;
        let body = body.first().ok_or_else(|| broken("it is not there"))?;
        let body = zstd::decode_all(body.as_slice()).map_err(|error| broken(&error.to_string()))?;
        #[derive(serde::Deserialize)]
        struct Stored {
            format: u64,
            items: Vec<Item>,
        }
        let stored: Stored = serde_json::from_slice(&body).map_err(|error| broken(&error.to_string()))?;
        if stored.format != FORMAT {
            return Err(broken("a newer automem wrote it; use that one"));
        }
        if items_digest(&stored.items) != selection.items {
            return Err(broken("it is not the one that was proposed"));
        }
        Ok(stored.items)
    }

    /// Decides on items that were shown from a list.
    ///
    /// # Errors
    /// As [`Desk::append`].
    pub fn judge(
        &mut self,
        id: &ProposalId,
        seen: Seq,
        by: &str,
        shown: &[Item],
        judgement: Judgement,
    ) -> Result<Entry, ReviewError> {
        let what = What::Judged {
            digest: items_digest(judgement.items.iter().filter_map(|at| shown.get(at))),
            items: judgement.items,
            verdict: match judgement.reject {
                None => Verdict::Accept,
                Some(reason) => Verdict::Reject { reason },
            },
            comment: judgement.comment,
            filter: judgement.filter,
            policy: judgement.policy,
        };
        self.append(id, seen, by, what)
    }

    /// Commits the decisions as they are. Items that wait are left out; parts must not wait.
    ///
    /// # Errors
    /// When nothing is accepted, a decision is about other items than those there are, or as [`Desk::append`].
    pub fn commit(&mut self, id: &ProposalId, seen: Seq, by: &str) -> Result<Entry, ReviewError> {
        let dossier = self.dossier(id)?;
        if let Some(files) = dossier.files() {
            let result = digest_of(&dossier.standing.files(files));
            return self.append(id, seen, by, What::Committed { result });
        }
        let items = self.items(&dossier)?;
        for entry in &dossier.entries {
            if let What::Judged {
                items: places, digest, ..
            } = &entry.what
            {
                let is = items_digest(places.iter().filter_map(|at| items.get(at)));
                if is != *digest {
                    return Err(ReviewError::OtherBytes {
                        id: id.clone(),
                        part: places.to_string().as_str().into(),
                        given: *digest,
                        is,
                    });
                }
            }
        }
        let taken = dossier.standing.items.iter().flat_map(|all| all.taken());
        let result = items_digest(taken.filter_map(|at| items.get(at)));
        self.append(id, seen, by, What::Committed { result })
    }
}
