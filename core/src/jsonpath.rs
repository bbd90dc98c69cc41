//! The simple JSON paths that definitions use for columns, scale and selectable fields.
