/** What `headgate init` asks. An answer is an option, or what somebody types on a terminal. */

import { createInterface } from "node:readline";
import { isHttpUrl } from "../../kernel/config/bindings.ts";
import { Failure, type Io, Misuse } from "../io.ts";

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
      [
        "framework",
        "an app whose framework builds its own Worker: SvelteKit, Astro, React Router, Nuxt, OpenNext, Analog",
      ],
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
const DEFAULTS = Object.fromEntries(NAMES.map((name) => [name, QUESTIONS[name].choices[0]![0]]));

/** Who has answered that takes the defaults for the rest. */
export function answersOf(given: Partial<Answers>): Answers {
  for (const name of NAMES) {
    const word = given[name];
    if (word === undefined || isAnswer(name, word)) continue;
    throw new Misuse(`--${name}: expected ${QUESTIONS[name].choices.map(([one]) => one).join(", ")}; found "${word}"`);
  }
  return { ...DEFAULTS, ...given } as Answers;
}

/** Asks for what is not given. @throws {Failure} if the input ends before the last answer. */
export async function ask(given: Partial<Answers>, input: NodeJS.ReadableStream, io: Io): Promise<Answers> {
  const reader = createInterface({ input });
  const lines = reader[Symbol.asyncIterator]();
  const typed: Partial<Record<keyof Answers, string>> = { ...answersOf(given), ...given };
  try {
    for (const name of NAMES) {
      if (given[name] !== undefined) continue;
      const { asks, choices } = QUESTIONS[name];
      io.err(`${asks}\n${choices.map(([, means], at) => `  ${at + 1}  ${means}\n`).join("")}`);
      let answer: string | undefined;
      while (answer === undefined) {
        io.err("[1] ");
        const { value, done } = await lines.next();
        if (done) throw new Failure("nothing was written: the questions were not answered");
        const text = String(value).trim() || "1";
        const word = choices[Number(text) - 1]?.[0] ?? text;
        if (isAnswer(name, word)) answer = word;
        else
          io.err(
            word === URL_WORD ? "Type the URL itself, with https://\n" : `Type a number from 1 to ${choices.length}.\n`,
          );
      }
      typed[name] = answer;
      if (answer === "framework") break;
    }
  } finally {
    // Or the process would wait for more.
    reader.close();
  }
  return typed as Answers;
}

function isAnswer(name: keyof Answers, word: string): boolean {
  // As for ORIGIN_URL. No quote can end the text in wrangler.toml.
  if (name === "behind" && isHttpUrl(word)) return !/[?#"\\\s]/.test(word);
  return word !== URL_WORD && QUESTIONS[name].choices.some(([one]) => one === word);
}
