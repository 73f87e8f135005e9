// The text of HTML documents (section 4 of the pipeline specification).

import { ENTITIES } from "./entities.js";

const list = (names) => new Set(names.split(" "));
const OMITTED = list("script style noscript template iframe object noembed svg math nav datalist select");
const FOREIGN = list("svg math");
const WITHOUT_END = list(
    "area base br col embed hr img input link meta source track wbr " +
        "li p dt dd td th tr thead tbody tfoot option optgroup body html head",
);
const INLINE = list(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i img ins kbd mark q rb rp rt ruby s samp small " +
        "span strike strong sub sup time tt u var wbr",
);
const RCDATA = list("title textarea");
const RAWTEXT = list("style iframe xmp noembed noframe noscript");

const entityList = ENTITIES.split(" ");
const entities = new Map();
for (let i = 0; i < entityList.length; i += 2) {
    entities.set(entityList[i], entityList[i + 1]);
}
const LONGEST_ENTITY = Math.max(...[...entities.keys()].map((name) => name.length));

/** Characters of the references 0x80 to 0x9f; a space keeps the number. */
const WINDOWS = "€ ‚ƒ„…†‡ˆ‰Š‹Œ Ž  ‘’“”•–—˜™š›œ žŸ";

/** Whether `auto` takes a document for HTML (section 4.1). */
function isHtml(document) {
    const skipped = /\uFEFF*/y;
    skipped.exec(document);
    let at = skipped.lastIndex;
    for (let before = -1; before !== at;) {
        before = at;
        const space = /\p{White_Space}*/uy;
        space.lastIndex = at;
        space.exec(document);
        at = space.lastIndex;
        for (const [start, end] of [
            ["<!--", "-->"],
            ["<?xml", "?>"],
        ]) {
            const found = document.startsWith(start, at) ? document.indexOf(end, at + start.length) : -1;
            at = found < 0 ? at : found + end.length;
        }
    }
    return /^(?:<!doctype html|<html|<head|<body)(?![0-9A-Za-z])/i.test(document.slice(at, at + 16));
}

function numericReference(digits, radix) {
    const number = Number.parseInt(digits, radix);
    const windows = number >= 0x80 && number <= 0x9f ? WINDOWS[number - 0x80] : " ";
    if (windows !== " ") {
        return windows;
    }
    const isCharacter = number > 0 && number <= 0x10ffff && (number < 0xd800 || number > 0xdfff);
    return isCharacter ? String.fromCodePoint(number) : "\uFFFD";
}

/** Resolves character references (section 13.2.5.72 of HTML). */
function resolve(text, isAttribute) {
    return text.replace(
        /&(?:#(?:[xX]([0-9A-Fa-f]+)|([0-9]+));?|([0-9A-Za-z]+;?))/g,
        (whole, hex, decimal, name, at) => {
            if (name === undefined) {
                return hex === undefined ? numericReference(decimal, 10) : numericReference(hex, 16);
            }
            for (let length = Math.min(name.length, LONGEST_ENTITY); length > 0; length--) {
                const characters = entities.get(name.slice(0, length));
                if (characters !== undefined) {
                    const after = text[at + 1 + length] ?? "";
                    const isKept = isAttribute && name[length - 1] !== ";" && /[=0-9A-Za-z]/.test(after);
                    return isKept ? whole : characters + name.slice(length);
                }
            }
            return whole;
        },
    );
}

const TAG_NAME = /[^\t\n\f />]*/y;
const VALUE = `"([^"]*)(?:"|$)|'([^']*)(?:'|$)|(?=>)|([^\\t\\n\\f >"'][^\\t\\n\\f >]*)`;
const ATTRIBUTE = new RegExp(
    `[\\t\\n\\f /]*([^\\t\\n\\f />][^\\t\\n\\f />=]*)(?:[\\t\\n\\f ]*=[\\t\\n\\f ]*(?:${VALUE}))?`,
    "y",
);

/** Reads the text of a document. */
class Reader {
    constructor(document) {
        this.source = document.replace(/\r\n?/g, "\n");
        this.at = 0;
        this.text = "";
        // Whether the text is empty or its last character is a line feed.
        this.isLineStart = true;
        this.foreign = 0;
        // The name of the omitted element, and how many of its start tags are open.
        this.omitted = undefined;
        this.open = 0;
    }

    read() {
        while (this.at < this.source.length) {
            const start = this.source.indexOf("<", this.at);
            const end = start < 0 ? this.source.length : start;
            this.add(resolve(this.source.slice(this.at, end), false));
            this.at = end;
            if (start >= 0) {
                this.readMarkup();
            }
        }
        return this.text;
    }

    add(text) {
        if (this.omitted === undefined && text !== "") {
            this.text += text;
            this.isLineStart = text.endsWith("\n");
        }
    }

    /** What follows a `<` in the data state. */
    readMarkup() {
        const { source, at } = this;
        if (/[A-Za-z]/.test(source[at + 1] ?? "")) {
            this.readTag(at + 1, false);
        } else if (source[at + 1] === "/" && /[A-Za-z]/.test(source[at + 2] ?? "")) {
            this.readTag(at + 2, true);
        } else if (source.startsWith("<!--", at)) {
            this.at = endOfComment(source, at + 4);
        } else if (/[!?]/.test(source[at + 1] ?? "") || (source[at + 1] === "/" && at + 2 < source.length)) {
            const end = source.indexOf(">", at + 1);
            this.at = end < 0 ? source.length : end + 1;
        } else {
            this.add("<");
            this.at++;
        }
    }

    /** A tag whose name starts at an offset. One that the document ends in is dropped. */
    readTag(nameStart, isEnd) {
        const { source } = this;
        TAG_NAME.lastIndex = nameStart;
        const name = TAG_NAME.exec(source)[0].replace(/[A-Z]/g, (c) => c.toLowerCase());
        let at = TAG_NAME.lastIndex;
        let role;
        for (;;) {
            ATTRIBUTE.lastIndex = at;
            const match = ATTRIBUTE.exec(source);
            if (match === null) {
                break;
            }
            at = ATTRIBUTE.lastIndex;
            const [, attribute, double, single, bare] = match;
            if (role === undefined && attribute.toLowerCase() === "role") {
                role = resolve(double ?? single ?? bare ?? "", true);
            }
        }
        const end = /[\t\n\f /]*/y;
        end.lastIndex = at;
        const isSelfClosing = end.exec(source)[0].endsWith("/");
        const close = end.lastIndex;
        if (source[close] !== ">") {
            // The end of the document, within the tag.
            this.at = source.length;
            return;
        }
        this.at = close + 1;
        this.handleTag(name, isEnd, isSelfClosing, role);
    }

    handleTag(name, isEnd, isSelfClosing, role) {
        if (FOREIGN.has(name)) {
            const closes = isEnd || isSelfClosing;
            this.foreign = Math.max(0, this.foreign + (isEnd ? -1 : 1) - (closes && !isEnd ? 1 : 0));
        }
        if (this.omitted !== undefined) {
            if (name === this.omitted) {
                this.count(isEnd, isSelfClosing);
            }
        } else {
            this.addLineFeed(name);
            const isNavigation = /^navigation$/i.test(role ?? "") && !WITHOUT_END.has(name);
            if (!isEnd && (OMITTED.has(name) || isNavigation)) {
                this.omitted = name;
                this.open = 0;
                this.count(false, isSelfClosing);
            }
        }
        if (!isEnd && this.foreign === 0) {
            this.readRawText(name);
        }
    }

    /** Counts a tag of the name of the omitted element, which ends where as many were closed as opened. */
    count(isEnd, isSelfClosing) {
        this.open += isEnd || (isSelfClosing && FOREIGN.has(this.omitted)) ? (isEnd ? -1 : 0) : 1;
        if (this.open === 0) {
            this.omitted = undefined;
        }
    }

    addLineFeed(name) {
        if (!INLINE.has(name) && !this.isLineStart) {
            this.add("\n");
        }
    }

    /** The states of the tokeniser in which only an end tag of the same name is markup. */
    readRawText(name) {
        const { source } = this;
        if (name === "plaintext") {
            this.add(source.slice(this.at).replaceAll("\0", "\uFFFD"));
            this.at = source.length;
            return;
        }
        if (!RCDATA.has(name) && !RAWTEXT.has(name) && name !== "script") {
            return;
        }
        const start = this.at;
        this.at = name === "script" ? endOfScript(source, start) : endOfElement(source, start, name);
        const text = source.slice(start, this.at).replaceAll("\0", "\uFFFD");
        this.add(RCDATA.has(name) ? resolve(text, false) : text);
    }
}

/** Where a comment ends whose text starts at an offset. */
function endOfComment(source, from) {
    for (const end of [/-?>/y, /--!?>/g]) {
        end.lastIndex = from;
        if (end.test(source)) {
            return end.lastIndex;
        }
    }
    return source.length;
}

/** Where the end tag of an element starts. */
function endOfElement(source, from, name) {
    const end = new RegExp(`</${name}(?=[\\t\\n\\f />])`, "gi");
    end.lastIndex = from;
    return end.exec(source)?.index ?? source.length;
}

/** Where the end tag of a script starts, which no script within a comment hides. */
function endOfScript(source, from) {
    const marks = /<!--(?=(-*>)?)|-->|<(\/?)script(?=[\t\n\f />])/gi;
    marks.lastIndex = from;
    let [isEscaped, isDouble] = [false, false];
    for (let match; (match = marks.exec(source)) !== null;) {
        const [mark, closes, slash] = match;
        if (mark === "<!--") {
            isEscaped = closes === undefined;
            isDouble = isDouble && isEscaped;
        } else if (slash === undefined) {
            [isEscaped, isDouble] = [false, false];
        } else if (slash === "/" && !isDouble) {
            return match.index;
        } else if (isEscaped) {
            isDouble = slash === "";
        }
    }
    return source.length;
}

/** The text of a document; `html` is `yes`, or `auto` if the document may be no HTML. */
export function textOfHtml(document, html) {
    return html === "yes" || isHtml(document) ? new Reader(document).read() : document;
}
