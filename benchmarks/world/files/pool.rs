//! A pool of connections.

use std::collections::VecDeque;
use std::fmt;

/// Nothing is free.
#[derive(Debug, Clone, PartialEq)]
pub enum PoolError {
    Empty,
    Closed { limit: usize },
}

impl fmt::Display for PoolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PoolError::Empty => write!(f, "empty"),
            PoolError::Closed { limit } => {
                write!(f, "closed, {limit}")
            }
        }
    }
}

const HELP: &str = r#"usage: pool
// no comment
"#;

macro_rules! ensure {
    ($what:expr, $error:expr) => {
        if !$what {
            return Err($error);
        }
    };
}

#[cfg(feature = "sync")]
pub struct Pool<T>
where
    T: Send,
{
    free: VecDeque<T>,
    limit: usize,
}

#[cfg(feature = "sync")]
impl<T: Send> Pool<T> {
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { free: VecDeque::with_capacity(limit), limit }
    }

    /* Gives
       one. */
    pub fn get(&mut self) -> Result<T, PoolError> {
        ensure!(self.limit > 0, PoolError::Closed { limit: self.limit });
        self.free.pop_front().ok_or(PoolError::Empty)
    }
}

#[test]
fn help_is_there() {
    assert!(HELP.len() > 3);
}
