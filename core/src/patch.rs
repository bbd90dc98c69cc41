//! Patches: pure functions from document and patch to document.
