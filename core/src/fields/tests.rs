//! Tables of sets, objects and managers.

mod sets;
