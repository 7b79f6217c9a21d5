/** What `headgate init` asks. An answer is an option, or what somebody types on a terminal. */

import { createInterface } from "node:readline";
import { isHttpUrl } from "../../kernel/config/bindings.ts";
import { Failure, type Io, Misuse } from "../io.ts";
import { printable } from "../printable.ts";

export interface Answers {
  /** `demo`, `worker`, `framework`, or the URL of a server. */
  readonly behind: string;
  readonly key: string;
  readonly store: string;
}

interface Question {
  readonly asks: string;
  /** The first is the default. */
  readonly choices: readonly (readonly [word: string, means: string])[];
}

const URL_WORD = "<url>";

export const QUESTIONS: Readonly<Record<keyof Answers, Question>> = {
  behind: {
    asks: "What stands behind headgate?",
    choices: [
      ["demo", "nothing yet: a demo answers"],
      [URL_WORD, "a server: type its URL, for example https://origin.example.com"],
      ["worker", "this Worker itself: an app with headgate as its middleware"],
      ["framework", "an app whose framework builds its own Worker: SvelteKit, Nuxt, Analog"],
    ],
  },
  key: {
    asks: "Who is counted?",
    choices: [
      ["ip", "each address"],
      ["api-key", "each API key in the header X-API-Key"],
      ["jwt", "each user who is signed in with a JWT"],
    ],
  },
  store: {
    asks: "Where are the counts?",
    choices: [
      ["durable-object", "in a Durable Object, which needs nothing but Cloudflare"],
      ["redis", "in Redis, at Upstash for example"],
    ],
  },
};

const NAMES = Object.keys(QUESTIONS) as (keyof Answers)[];

/** Absent: the default, or what somebody types. */
export type Given = { readonly [N in keyof Answers]?: string | undefined };

/** The answers of the options, with the defaults for the rest. @throws {Misuse} */
export function answersOf(given: Given): Answers {
  const { behind, key, store } = given;
  if (behind === "framework" && (key !== undefined || store !== undefined)) {
    throw new Misuse("a Worker that only counts has no policies: expected neither --key nor --store");
  }
  const answers = NAMES.map((name) => {
    const { choices } = QUESTIONS[name];
    const word = given[name] ?? choices[0]![0];
    if (isAnswer(name, word)) return [name, word];
    throw new Misuse(`--${name}: expected ${choices.map(([one]) => one).join(", ")}; found "${word}"`);
  });
  return Object.fromEntries(answers) as Answers;
}

/** Asks for what is not given. @throws {Failure} if the input ends before the last answer. */
export async function ask(given: Given, input: NodeJS.ReadableStream, io: Io): Promise<Answers> {
  const typed: Record<keyof Answers, string> = { ...answersOf(given) };
  const reader = createInterface({ input });
  const lines = reader[Symbol.asyncIterator]();
  try {
    for (const name of NAMES) {
      if (given[name] !== undefined) continue;
      const { asks, choices } = QUESTIONS[name];
      io.err(`${asks}\n${choices.map(([, means], at) => `  ${at + 1}  ${means}\n`).join("")}`);
      for (;;) {
        io.err("[1] ");
        const { value, done } = await lines.next();
        if (done) throw new Failure("nothing was written: the questions were not answered");
        const text = String(value).trim() || "1";
        typed[name] = choices[Number(text) - 1]?.[0] ?? text;
        if (isAnswer(name, typed[name])) break;
        const expected =
          typed[name] === URL_WORD ? "the URL itself, with https://" : `a number from 1 to ${choices.length}.`;
        io.err(`Type ${expected}\n`);
      }
      if (typed.behind === "framework") return answersOf({ ...given, behind: typed.behind });
    }
  } finally {
    // Or the process would wait for more.
    reader.close();
  }
  return typed;
}

function isAnswer(name: keyof Answers, word: string): boolean {
  // As for ORIGIN_URL. No quote can end the text in wrangler.toml, and TOML allows no control characters.
  if (name === "behind" && isHttpUrl(word)) return !/[?#"\\\s]/.test(word) && printable(word) === word;
  return word !== URL_WORD && QUESTIONS[name].choices.some(([one]) => one === word);
}
