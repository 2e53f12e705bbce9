//! Gives every Deployment a Network of its own.
