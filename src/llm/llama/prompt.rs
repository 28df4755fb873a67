//! Pieces of a prompt become tokens.
//!
//! Owns the rule that content is never more than text: only what the template wrote may become control tokens. Must not
//! render templates.

use llama_cpp_2::model::LlamaModel as Weights;
use llama_cpp_2::token::LlamaToken;
use llama_cpp_2::vocab::LlamaVocab;

use crate::llm::decoding::template::{Piece, SpecialTexts, TemplateKind};

/// What tokenising needs to know about a vocabulary.
#[derive(Debug, Clone)]
pub(super) struct Tokenizer {
    /// Bytes of the longest token.
    longest: usize,
    /// The token that must come first.
    bos: Option<i32>,
    /// The tokeniser puts a blank before each text it is given (SentencePiece).
    adds_blank: bool,
    /// Texts that end an answer because the template's end-of-turn text is no token of this vocabulary.
    pub(super) extra_stops: Vec<String>,
}

impl Tokenizer {
    /// Looks at a vocabulary.
    pub(super) fn new(weights: &Weights, sentence_piece: bool, template: &TemplateKind) -> Self {
        let vocab = weights.vocab();
        let mut piece = Vec::new();
        let mut longest = 1;
        for token in vocab.tokens() {
            piece.clear();
            vocab.token_to_piece_into(token, &mut piece, true, None);
            longest = longest.max(piece.len());
        }
        let fallback = matches!(template, TemplateKind::ChatMl { .. });
        let end_is_token = vocab.tokenize(b"<|im_end|>", false, true).len() == 1;
        Self {
            longest,
            bos: vocab.should_add_bos().then(|| vocab.bos().0).filter(|bos| *bos >= 0),
            adds_blank: sentence_piece,
            extra_stops: if fallback && !end_is_token {
                vec!["<|im_end|>".to_owned()]
            } else {
                Vec::new()
            },
        }
    }

    /// A number of tokens that the pieces have at least, without tokenising them.
    pub(super) fn least_tokens(&self, pieces: &[Piece]) -> u32 {
        let bytes: usize = pieces.iter().map(|piece| piece.text().len()).sum();
        u32::try_from(bytes / self.longest).unwrap_or(u32::MAX)
    }

    /// The tokens of a prompt.
    pub(super) fn tokenize(&self, vocab: LlamaVocab<'_>, pieces: &[Piece]) -> Vec<i32> {
        let mut tokens = Vec::new();
        for (index, piece) in pieces.iter().enumerate() {
            let parse_special = matches!(piece, Piece::Template(_));
            if self.adds_blank && index > 0 && !parse_special {
                self.continue_text(&vocab, piece.text(), &mut tokens);
            } else {
                vocab.tokenize_into(piece.text().as_bytes(), &mut tokens, false, parse_special);
            }
        }
        let mut tokens: Vec<i32> = tokens.into_iter().map(|token| token.0).collect();
        if let Some(bos) = self.bos
            && tokens.first() != Some(&bos)
        {
            tokens.insert(0, bos);
        }
        if tokens.is_empty() {
            // There must be something to evaluate.
            tokens.push(vocab.nl().0.max(0));
        }
        tokens
    }

    /// Tokenises text that goes on after other text, without the blank that the tokeniser would put before it: a line
    /// end is put there instead and its tokens taken away again.
    fn continue_text(&self, vocab: &LlamaVocab<'_>, text: &str, tokens: &mut Vec<LlamaToken>) {
        let lead = vocab.tokenize(b"\n", false, false);
        let whole = vocab.tokenize(format!("\n{text}").as_bytes(), false, false);
        match whole.strip_prefix(lead.as_slice()) {
            Some(rest) => tokens.extend_from_slice(rest),
            None => vocab.tokenize_into(text.as_bytes(), tokens, false, false),
        }
    }
}

/// The texts of the tokens that templates ask for.
pub(super) fn special_texts(weights: &Weights) -> SpecialTexts {
    let vocab = weights.vocab();
    let text = |token: LlamaToken| {
        if token.0 < 0 {
            return String::new();
        }
        String::from_utf8_lossy(&vocab.token_to_piece(token, true, None)).into_owned()
    };
    SpecialTexts {
        bos: text(vocab.bos()),
        eos: text(vocab.eos()),
    }
}
