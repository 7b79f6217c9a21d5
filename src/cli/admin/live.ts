/** `headgate admin live`: the whole live document, to look at, keep and edit. */

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import type { Command } from "commander";
import { isTable } from "../../config/bindings.ts";
import { Failure, type Io, Misuse } from "../io.ts";
import { jsonText, line } from "../printable.ts";
import { type Access, type Answer, callAdmin } from "./api.ts";
import { type AdminOptions, addCommand, isFieldValue, type Perform } from "./perform.ts";
import { versionText } from "./show.ts";

const PATH = "/live";
const GET = { method: "GET", path: PATH, answers: "overrides" } as const;

export function addLive(admin: Command, perform: Perform, io: Io): void {
  const live = admin.command("live").description("the whole live document").helpCommand(false);

  addCommand(live, "get", "print the live document, or write it to a file")
    .option("--out <file>", "write it there")
    .action((options: AdminOptions & { readonly out?: string }) => {
      const { out } = options;
      const calls = async (access: Access) => {
        const answer = await callAdmin(access, GET);
        if (out !== undefined) writeFileSync(resolve(io.cwd, out), jsonText(answer.body));
        return answer;
      };
      return perform(options, calls, (body) =>
        out === undefined ? jsonText(body) : line(`${out} is version ${String(body.version)} of the live document`),
      );
    });

  addCommand(live, "put", "replace the live document by an edited one")
    .argument("<file>", "the document, as `live get` wrote it")
    .option("--if-match <etag>", "the version to replace (default: the one that the file names)")
    .action((file: string, options: AdminOptions & { readonly ifMatch?: string }) => {
      const document = documentIn(file, io);
      if (options.ifMatch !== undefined && !isFieldValue(options.ifMatch)) {
        throw new Misuse(`--if-match: expected an ETag such as '"7"'`);
      }
      const calls = async (access: Access) => {
        const ifMatch = options.ifMatch ?? (await etagOf(document.version, access));
        return callAdmin(access, { method: "PUT", path: PATH, body: document, ifMatch, answers: "version" });
      };
      return perform(options, calls, (body) => `the live document is replaced${versionText(body)}\n`);
    });
}

function documentIn(file: string, { cwd }: Io): Answer["body"] {
  const path = resolve(cwd, file);
  if (!existsSync(path)) throw new Misuse(`there is no ${file}`);
  try {
    const document: unknown = JSON.parse(readFileSync(path, "utf8"));
    if (isTable(document)) return document;
  } catch {
    // The same mistake as a document of another kind.
  }
  throw new Misuse(`${file}: expected a JSON object`);
}

/** The ETag of the version that the file was made from. The PUT fails if the document changes after this look. */
async function etagOf(version: unknown, access: Access): Promise<string> {
  const { body, etag } = await callAdmin(access, GET);
  if (body.version !== version) {
    throw new Failure(
      `the file is of version ${String(version)}, and the gateway has version ${String(body.version)}: ` +
        "somebody else has changed the live document. Get it again, and repeat the change",
    );
  }
  if (etag === null) throw new Failure("the gateway told no ETag: is it of another version?");
  return etag;
}
