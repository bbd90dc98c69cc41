//! Rules for names, labels, annotations, finalizers, owner references and the rest of metadata.
