//! Defaults of built-in kinds, as a table of paths and values.
