/** The command that does the same as a button: the console teaches the command line. */

import { useEffect, useState } from "preact/hooks";

/** One word of a POSIX shell. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/**
 * The command for this gateway, in the form that works in a clone and in a folder that `headgate init` has made: in a
 * clone npx finds no `headgate`. Undefined words are left out.
 */
export function admin(...words: readonly (string | undefined)[]): string {
  const given = words.filter((word) => word !== undefined);
  return [`HEADGATE_URL=${location.origin} npm run headgate -- admin`, ...given.map(quoted)].join(" ");
}

/** Changes the whole document. @param edited which part of it. */
export function documentCommand(edited = "it"): string {
  // npm writes lines of its own before the document, unless it is told not to.
  const get = admin("live", "get").replace("npm run", "npm run --silent");
  return [`${get} > live.json   # then edit ${edited}`, admin("live", "put", "live.json")].join("\n");
}

export function Command({ text, label = "The same on the command line" }: { text: string; label?: string }) {
  return (
    <figure class="command">
      <figcaption>{label}</figcaption>
      <pre>
        <code>{text}</code>
      </pre>
      <Copy text={text} what="command" />
    </figure>
  );
}

export function Copy({ text, what }: { text: string; what: string }) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setCopied(false), 2_000);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = () => navigator.clipboard?.writeText(text).then(() => setCopied(true));
  return (
    <button type="button" class="small" onClick={copy} aria-label={`Copy the ${what}`}>
      {copied ? "Copied" : "Copy"}
    </button>
  );
}
