//! Structural schemas: what a body may hold, for built-in and custom kinds alike.

/// A structural schema. (Shape to come.)
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Schema {}
