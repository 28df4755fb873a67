//! The player reads real observations and answers as it should.
