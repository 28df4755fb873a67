//! What calls of a model cost, where a person set its prices.

use super::Usage;

/// Prices of a model in US dollars for a million tokens. What is `None` is not known.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Prices {
    /// Of the prompt.
    pub input: Option<f64>,
    /// Of what is taken from a cache; as of the prompt where it is not known.
    pub cached: Option<f64>,
    /// Of the answer.
    pub output: Option<f64>,
}

impl Prices {
    /// What these tokens cost; what the server told itself counts before it. `None` where neither is known.
    /// What a server charges for filling its cache is counted as prompt.
    pub fn dollars(&self, usage: &Usage) -> Option<f64> {
        usage.dollars.or_else(|| {
            let (input, output) = (self.input?, self.output?);
            let cached = usage.cached.min(usage.prompt);
            let tokens = [
                (usage.prompt - cached, input),
                (cached, self.cached.unwrap_or(input)),
                (usage.completion, output),
            ];
            Some(tokens.iter().map(|(tokens, price)| *tokens as f64 * price / 1e6).sum())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_have_their_price_and_the_servers_word_counts_more() {
        let usage = Usage {
            prompt: 1_000_000,
            cached: 400_000,
            completion: 100_000,
            dollars: None,
        };
        let prices = Prices {
            input: Some(3.0),
            cached: Some(0.5),
            output: Some(15.0),
        };
        assert!((prices.dollars(&usage).unwrap() - (1.8 + 0.2 + 1.5)).abs() < 1e-9);
        let plain = Prices { cached: None, ..prices };
        assert!((plain.dollars(&usage).unwrap() - 4.5).abs() < 1e-9);
        assert_eq!(Prices::default().dollars(&usage), None);
        let told = Usage {
            dollars: Some(0.25),
            ..usage
        };
        assert_eq!(prices.dollars(&told), Some(0.25));
    }
}
