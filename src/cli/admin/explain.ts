/** `headgate admin explain`: why a request was refused, by the token that its refusal carries. */

import type { Command } from "commander";
import { Misuse } from "../io.ts";
import { callAdmin } from "./api.ts";
import { type AdminOptions, addCommand, type Perform } from "./perform.ts";
import { explanationText } from "./show.ts";

export function addExplain(admin: Command, perform: Perform): void {
  addCommand(admin, "explain", "why a request was refused")
    .argument("<token>", "the field Headgate-Explain of the refusal, at most 10 minutes old")
    .action((token: string, options: AdminOptions) => {
      if (!/^[\w-]+$/.test(token)) throw new Misuse("expected the value of Headgate-Explain: letters, digits, _ and -");
      return perform(
        options,
        (access) => callAdmin(access, { method: "GET", path: "/explain", search: { token }, answers: "limits" }),
        explanationText,
      );
    });
}
