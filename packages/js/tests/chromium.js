// Chromium without a window, driven over a pipe by its protocol for developers.

import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The program, undefined if it is not here. CHROMIUM may name it. */
export const CHROMIUM = [process.env.CHROMIUM ?? "chromium", "chromium-browser", "google-chrome"].find(
    (name) => spawnSync(name, ["--version"]).status === 0,
);

const KEYS = { Tab: 9, Enter: 13 };

/** Starts the browser, and gives functions that open a page and end the browser. */
export async function startBrowser() {
    const profile = mkdtempSync(join(tmpdir(), "simidx-chromium-"));
    // The sandbox does not work for root or in most containers; the pages are our own.
    const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"];
    const args = [...flags, "--remote-debugging-pipe", `--user-data-dir=${profile}`, "about:blank"];
    const browser = spawn(CHROMIUM, args, { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
    const [, , , input, output] = browser.stdio;
    const waiting = new Map();
    const listeners = new Map();
    let rest = "";
    output.setEncoding("utf8").on("data", (text) => {
        const messages = (rest + text).split("\0");
        rest = messages.pop();
        for (const message of messages.map((one) => JSON.parse(one))) {
            waiting.get(message.id)?.(message);
            waiting.delete(message.id);
            listeners.get(message.sessionId)?.(message);
        }
    });
    let last = 0;
    const send = async (method, params = {}, sessionId = undefined) => {
        const id = ++last;
        input.write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
        const answer = await new Promise((resolve) => waiting.set(id, resolve));
        if (answer.error !== undefined) {
            throw new Error(`${method}: ${answer.error.message}`);
        }
        return answer.result;
    };
    return {
        openPage: (url, options) => openPage(send, listeners, url, options),
        close: async () => {
            const ended = once(browser, "exit");
            send("Browser.close").catch(() => {});
            await ended;
            rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
        },
    };
}

/** Opens a page in a tab of its own, `width` and `height` pixels large, `dark` or not. */
async function openPage(send, listeners, url, { width = 1000, height = 800, dark = false } = {}) {
    const { targetId } = await send("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await send("Target.attachToTarget", { targetId, flatten: true });
    const ask = (method, params) => send(method, params, sessionId);
    const page = new Page(ask);
    listeners.set(sessionId, (message) => page.hear(message));
    await Promise.all(["Page", "Runtime", "Log"].map((name) => ask(`${name}.enable`)));
    await ask("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: width < 600 });
    const value = dark ? "dark" : "light";
    await ask("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value }] });
    const loaded = new Promise((resolve) => (page.loaded = resolve));
    const { errorText } = await ask("Page.navigate", { url });
    if (errorText !== undefined) {
        throw new Error(`${url}: ${errorText}`);
    }
    await loaded;
    return page;
}

class Page {
    constructor(ask) {
        this.ask = ask;
        /** Errors and warnings of the console, and exceptions that nobody caught. */
        this.complaints = [];
    }

    hear({ method, params }) {
        if (method === "Page.loadEventFired") {
            this.loaded();
        } else if (method === "Runtime.exceptionThrown") {
            this.complaints.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
        } else if (method === "Runtime.consoleAPICalled" && ["error", "warning", "assert"].includes(params.type)) {
            this.complaints.push(params.args.map((arg) => arg.value ?? arg.description).join(" "));
        } else if (method === "Log.entryAdded" && ["error", "warning"].includes(params.entry.level)) {
            this.complaints.push(`${params.entry.text} ${params.entry.url ?? ""}`);
        }
    }

    /** The value of an expression in the page. */
    async evaluate(expression) {
        const how = { expression, returnByValue: true, awaitPromise: true };
        const { result, exceptionDetails } = await this.ask("Runtime.evaluate", how);
        if (exceptionDetails !== undefined) {
            throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
        }
        return result.value;
    }

    /** Waits until an expression in the page is true. */
    async until(expression) {
        for (const end = Date.now() + 20000; !(await this.evaluate(expression)); ) {
            if (Date.now() > end) {
                throw new Error(`not true in 20 s: ${expression}\n${await this.evaluate("document.body.innerText")}`);
            }
            await new Promise((resolve) => setTimeout(resolve, 20));
        }
    }

    async press(key) {
        const text = key === "Enter" ? { text: "\r" } : {};
        for (const type of ["keyDown", "keyUp"]) {
            const event = { type, key, code: key, windowsVirtualKeyCode: KEYS[key] };
            await this.ask("Input.dispatchKeyEvent", { ...event, ...(type === "keyDown" && text) });
        }
    }

    type(text) {
        return this.ask("Input.insertText", { text });
    }

    /** The page as it is shown, as the bytes of a PNG. */
    async screenshot() {
        const { data } = await this.ask("Page.captureScreenshot", { format: "png" });
        return Buffer.from(data, "base64");
    }

    /** By how many pixels the page is wider than the window. */
    overflow() {
        return this.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
    }

    /** The texts whose colour has less contrast to the ground than WCAG AA wants. */
    faintTexts() {
        return this.evaluate(`(${faintTexts})()`);
    }
}

/** Runs in the page. */
function faintTexts() {
    const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const channelsOf = (color) => {
        context.clearRect(0, 0, 1, 1);
        context.fillStyle = color;
        context.fillRect(0, 0, 1, 1);
        return [...context.getImageData(0, 0, 1, 1).data];
    };
    const probe = document.body.appendChild(document.createElement("div"));
    probe.style.background = "Canvas";
    const canvas = getComputedStyle(probe).backgroundColor;
    probe.remove();
    const groundOf = (element) => {
        const own = element === null ? canvas : getComputedStyle(element).backgroundColor;
        return channelsOf(own)[3] === 255 ? own : groundOf(element.parentElement);
    };
    const luminance = (color) => {
        const linear = (c) => (c <= 10 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);
        const [r, g, b] = channelsOf(color).map(linear);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const found = [];
    for (const element of document.body.querySelectorAll("*")) {
        const texts = [...element.childNodes].filter(({ nodeType }) => nodeType === Node.TEXT_NODE);
        const text = texts.map(({ data }) => data).join("").trim();
        if (text !== "" && element.checkVisibility() && !["SCRIPT", "STYLE"].includes(element.tagName)) {
            const pair = [getComputedStyle(element).color, groundOf(element)].map(luminance).sort((a, b) => a - b);
            const contrast = (pair[1] + 0.05) / (pair[0] + 0.05);
            if (contrast < 4.5) {
                found.push(`${text.slice(0, 40)}: ${contrast.toFixed(2)}`);
            }
        }
    }
    return found;
}
