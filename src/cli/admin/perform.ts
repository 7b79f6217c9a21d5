/** What every command of `headgate admin` has in common: its options, its call of the gateway, what it prints. */

import type { Command } from "commander";
import { type ExitCode, type Io, Misuse } from "../io.ts";
import { jsonText } from "../printable.ts";
import { type Access, type Answer, type Call, callAdmin, Refused } from "./api.ts";

/** Options of every command here. */
export interface AdminOptions {
  readonly url?: string;
  readonly token?: string;
  readonly json?: boolean;
}

/** Makes a call, or several, and prints the last answer. */
export type Perform = (
  options: AdminOptions,
  calls: Call | ((access: Access) => Promise<Answer>),
  text: (body: Answer["body"]) => string,
) => Promise<void>;

/** Adds a command with the options of every command here. */
export function addCommand(admin: Command, name: string, description: string): Command {
  return admin
    .command(name)
    .description(description)
    .option("--url <url>", "the gateway's address (default: HEADGATE_URL)")
    .option("--token <token>", "the gateway's ADMIN_TOKEN (default: HEADGATE_TOKEN, which other users cannot see)")
    .option("--json", "print the gateway's answer as JSON");
}

export function performer(io: Io, end: (code: ExitCode) => void): Perform {
  return async (options, calls, text) => {
    const access = accessOf(options, io);
    try {
      const { body } = await (typeof calls === "function" ? calls(access) : callAdmin(access, calls));
      io.out(options.json ? jsonText(body) : text(body));
      end(0);
    } catch (error) {
      if (options.json && error instanceof Refused && error.problem !== undefined) {
        io.out(jsonText(error.problem));
      }
      throw error;
    }
  };
}

/** Options before environment variables. */
function accessOf({ url, token }: AdminOptions, { env, err }: Io): Access {
  const [address, secret] = [url ?? env.HEADGATE_URL, token ?? env.HEADGATE_TOKEN];
  if (!address) throw new Misuse("expected the gateway's address, as --url or HEADGATE_URL");
  if (!secret) throw new Misuse("expected the gateway's ADMIN_TOKEN, as HEADGATE_TOKEN or --token");
  const parsed = URL.canParse(address) ? new URL(address) : undefined;
  const isPlain = parsed && parsed.username === "" && parsed.password === "" && !/[?#]/.test(address);
  if (!parsed || !isPlain || !/^https?:$/.test(parsed.protocol)) {
    throw new Misuse("--url: expected an http(s) URL without credentials, query or fragment");
  }
  if (!isFieldValue(secret))
    throw new Misuse("--token: expected letters, digits and signs of ASCII, without white space");
  if (parsed.protocol === "http:" && !/^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(parsed.hostname)) {
    err("warning: with http:// everybody on the way can read the token. Use https://\n");
  }
  return { url: parsed, token: secret };
}

/** What a field can carry as it is. */
export function isFieldValue(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text);
}
