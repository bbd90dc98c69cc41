//! Durable events through the embedded control plane, beside a plain append with fdatasync.

fn main() {}
