/** What the members of a request's body are, by their names: which of them reach the model, and which are media. */

/**
 * What a value is. A list is what its items are. `text` counts with all that it holds, whatever its names: the schema
 * of a tool, the arguments of a call. Of a `body` and a `config` only the members named here are read.
 */
export type Role =
  | "body"
  | "config"
  | "skipped"
  | "text"
  | "message"
  | "prompt"
  | "variables"
  | "part"
  | "source"
  | "result";

/** By what a value is a member of: what it is, and the names it has. */
const ROLES: readonly (readonly [parent: Role, role: Role, names: string])[] = [
  ["body", "text", "instructions system tools functions response_format text output_config"],
  ["body", "message", "messages input contents systemInstruction system_instruction"],
  ["body", "prompt", "prompt"],
  ["body", "config", "generationConfig generation_config"],
  ["config", "text", "responseSchema response_schema responseJsonSchema response_json_schema"],
  ["message", "part", "content output parts"],
  ["prompt", "variables", "variables"],
  // The result of a tool, and a document that is a list of parts.
  ["part", "part", "content"],
  ["part", "source", "source"],
  ["part", "result", "functionResponse function_response"],
  ["source", "part", "content"],
  ["result", "part", "parts"],
];

/** Members whose values say what is asked for. Those of a `config` are kept as `config.<name>`. */
const FIELDS = {
  body: "model background n max_tokens max_completion_tokens max_output_tokens",
  config: "maxOutputTokens max_output_tokens candidateCount candidate_count",
};

/** Members of parts that may be media. */
const MEDIA =
  "image_url video_url input_audio file file_data file_id file_url source inlineData inline_data fileData file_data";

/** A name that matters somewhere. */
interface Name {
  readonly name: string;
  readonly roles: Map<Role, Role>;
  readonly fields: Map<Role, string>;
  isMedia: boolean;
}

/** All names that matter, by length and first letter. Made when a request is first read: most isolates read none. */
let made: Map<number, Name[]> | undefined;

const newName = (name: string): Name => ({ name, roles: new Map(), fields: new Map(), isMedia: false });
const placeOf = (length: number, first: number) => length * 256 + first;

function makeNames(): Map<number, Name[]> {
  const places = new Map<number, Name[]>();
  function each(names: string, change: (name: Name) => void): void {
    for (const name of names.split(" ")) {
      const place = placeOf(name.length, name.charCodeAt(0));
      const all = places.get(place) ?? [];
      const one = all.find((other) => other.name === name) ?? newName(name);
      places.set(place, [...new Set([...all, one])]);
      change(one);
    }
  }
  for (const [parent, role, names] of ROLES) each(names, ({ roles }) => roles.set(parent, role));
  each(FIELDS.body, ({ name, fields }) => fields.set("body", name));
  each(FIELDS.config, ({ name, fields }) => fields.set("config", `config.${name}`));
  each(MEDIA, (name) => {
    name.isMedia = true;
  });
  return places;
}

/** @returns `undefined` for a name that matters nowhere. */
export function nameOf(bytes: Uint8Array, from: number, to: number): Name | undefined {
  made ??= makeNames();
  return made.get(placeOf(to - from, bytes[from]!))?.find(({ name }) => {
    for (let i = 1; i < name.length; i++) if (name.charCodeAt(i) !== bytes[from + i]) return false;
    return true;
  });
}

/** What a member of an object is. @param name absent: it matters nowhere. */
export function roleOf(parent: Role, name: Name | undefined): Role {
  return name?.roles.get(parent) ?? (parent === "variables" ? "part" : isCounted(parent) ? "text" : "skipped");
}

/** Whether the strings and the names in a value reach the model. */
export function isCounted(role: Role): boolean {
  return role !== "skipped" && role !== "body" && role !== "config";
}
