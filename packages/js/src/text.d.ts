/** Computes fingerprints of texts. */
export interface TextPipeline {
    /**
     * The tables of Unicode that the description has in another version than this package, such as `nfkc 17.0.0`. Their
     * texts may have other fingerprints, if they have characters that one of the versions does not assign.
     */
    readonly otherTables: string[];
    /**
     * The fingerprint of a document; undefined if it has no features, as one of punctuation only: such a document is
     * near to nothing. Throws a SimidxError of the kind `unsupported` if the text has a combining character of a
     * version of Unicode that the engine does not know.
     */
    fingerprint(document: string): bigint | undefined;
    /** The text of a document after HTML and normalisation, before it is cut into words. */
    normalise(document: string): string;
}

/**
 * The pipeline that a description defines, as `index.pipeline()` gives it. It knows the presets `web`, `news-zh`,
 * `code` and `short`, with simhash too. Rejects with a SimidxError: `unsupported` for any other value, `argument`
 * without a description.
 *
 * @param width bits of a fingerprint, 64 by default
 */
export function textPipeline(description: string | undefined, width?: number): Promise<TextPipeline>;
