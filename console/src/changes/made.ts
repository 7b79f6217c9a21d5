/** A change that somebody has made, as the commands that do it: of a client only the hash is known. */

import type { ChangedEntry } from "../api.ts";
import { overrideIn, policyIn } from "../data/entries.ts";
import { quoted } from "../parts/command.tsx";
import { shortHash } from "../parts/numbers.ts";
import { wordsOf } from "./client-changes.ts";
import { editBetween, policyWords } from "./policy-changes.ts";

export function wordsOfEntry({ policy, key, was, is }: ChangedEntry): readonly string[] {
  const commands =
    key === undefined
      ? policyWords(policy, editBetween(policyIn(was), policyIn(is)))
      : [
          wordsOf(is && overrideIn(is), was && overrideIn(was)).flatMap((word) =>
            word === "…" ? [policy, shortHash(key)] : [word],
          ),
        ];
  return commands.map((words) =>
    ["headgate admin", ...words.map((word) => (word.includes("…") ? word : quoted(word)))].join(" "),
  );
}
