// Reads files of simidx, format version 1.

export { open, toHex } from "./opened.js";
export { SimidxError } from "./error.js";
