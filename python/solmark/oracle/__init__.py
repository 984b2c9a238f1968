"""The oracle: makes inputs, runs the reference, records its operations. A trusted child of the judge."""
