//! Conversations as tokens, for training: what inference would give the model, and what it should answer.
//!
//! Owns a vocabulary without weights. The template and the tokeniser are the ones inference uses. Must not train.

use std::path::Path;

use llama_cpp_2::model::LlamaModel as Weights;
use llama_cpp_2::model::params::LlamaModelParams;
use llama_cpp_2::token::LlamaToken;

use super::load::load_weights;
use super::prompt::{Tokenizer, special_texts};
use crate::llm::chat::LlmError;
use crate::llm::decoding::template::{ChatTemplate, Piece};
use crate::llm::gguf::Header;
use crate::types::{ChatRole, Message};

/// A conversation as tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatTokens {
    /// Prompt and answer, to the token that ends the answer.
    pub tokens: Vec<u32>,
    /// Tokens of the prompt: where the answer begins.
    pub prompt: usize,
}

/// A model's vocabulary and chat template.
pub struct ChatTokenizer {
    weights: Weights,
    tokenizer: Tokenizer,
    template: ChatTemplate,
    file: String,
}

impl std::fmt::Debug for ChatTokenizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChatTokenizer")
            .field("file", &self.file)
            .finish_non_exhaustive()
    }
}

impl ChatTokenizer {
    /// Reads a model's vocabulary; its weights are not loaded.
    ///
    /// # Errors
    /// [`LlmError::File`] when the file cannot be used.
    pub fn open(path: &Path) -> Result<Self, LlmError> {
        let header = Header::open(path)?;
        // Asked to tokenise without a vocabulary, llama.cpp would end the process.
        if header.array_len("tokenizer.ggml.tokens").unwrap_or(0) == 0 {
            return Err(LlmError::File {
                path: path.display().to_string(),
                cause: "it has no vocabulary".to_owned(),
                hint: "use a language model with a tokeniser".to_owned(),
            });
        }
        let params = LlamaModelParams::default().with_vocab_only(true).with_n_gpu_layers(0);
        let weights = load_weights(path, &params).map_err(|cause| LlmError::File {
            path: path.display().to_string(),
            cause,
            hint: "use a language model with a vocabulary, or fetch the file again".to_owned(),
        })?;
        let template = ChatTemplate::new(
            header.text("tokenizer.chat_template"),
            special_texts(&weights),
            &jiff::ZonedDateTime::now(),
        );
        let sentence_piece = header.text("tokenizer.ggml.model") == Some("llama");
        Ok(Self {
            tokenizer: Tokenizer::new(&weights, sentence_piece, template.kind()),
            template,
            weights,
            file: path.display().to_string(),
        })
    }

    /// Splits a conversation whose last message is the answer: the prompt is what inference would make of the messages
    /// before it; the answer's text is never more than text, and ends with the first token that ends a turn.
    ///
    /// # Errors
    /// [`LlmError::Backend`] when the template refuses the messages or the vocabulary has no token that ends a turn.
    pub fn conversation(&self, messages: &[Message]) -> Result<ChatTokens, LlmError> {
        let refused = |message: String| LlmError::Backend {
            backend: super::backend::NAME,
            message,
            retryable: false,
        };
        let Some((answer, before)) = messages.split_last() else {
            return Err(refused("a conversation without messages has no answer".to_owned()));
        };
        let template = |error: &dyn std::fmt::Display| {
            refused(format!("the model's chat template refuses these messages: {error}"))
        };
        let mut pieces = self.template.render(before).map_err(|error| template(&error))?;
        let tokens_of = |pieces: &[Piece]| self.tokenizer.tokenize(self.weights.vocab(), pieces);
        let prompt = tokens_of(&pieces).len();
        pieces.push(Piece::Content(answer.content.clone()));
        let mut tokens = tokens_of(&pieces);
        tokens.push(self.end_of_turn(messages, &template)?);
        Ok(ChatTokens {
            tokens: tokens
                .into_iter()
                .map(|token| u32::try_from(token).unwrap_or(0))
                .collect(),
            prompt,
        })
    }

    /// The token that the template puts behind an answer, if it is one that ends generation; else the vocabulary's.
    fn end_of_turn(
        &self,
        messages: &[Message],
        refused: &dyn Fn(&dyn std::fmt::Display) -> LlmError,
    ) -> Result<i32, LlmError> {
        let vocab = self.weights.vocab();
        let mut marked = messages.to_vec();
        if let Some(last) = marked.last_mut() {
            // What stands behind it, not what it says, is looked at.
            *last = Message::new(ChatRole::Assistant, "answer");
        }
        let pieces = self.template.render(&marked).map_err(|error| refused(&error))?;
        let behind = pieces
            .iter()
            .rposition(|piece| matches!(piece, Piece::Content(_)))
            .and_then(|last| pieces.get(last + 1));
        let written = behind.and_then(|piece| {
            let tokens = vocab.tokenize(piece.text().as_bytes(), false, true);
            tokens.into_iter().find(|token| vocab.is_eog(*token))
        });
        let own = || [vocab.eot(), vocab.eos()].into_iter().find(|token| token.0 >= 0);
        written
            .or_else(own)
            .map(|LlamaToken(token)| token)
            .ok_or_else(|| refused(&"its vocabulary has no token that ends an answer"))
    }
}
