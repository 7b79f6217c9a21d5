/** The spec that this copy of the package was installed by, for another folder's package.json. */

import { existsSync, readFileSync } from "node:fs";
import { dirname, join, resolve, sep } from "node:path";

/** The package as npm notes it in `node_modules/.package-lock.json`. */
interface Locked {
  readonly resolved?: string;
}

/**
 * npm does not tell a program the spec or the tarball that it was installed by, but notes both in a file beside the
 * program. npx does the same in its cache. npm may leave out the address of a package from the registry. Other
 * installers leave no note: the registry is assumed.
 *
 * @param packageFolder the folder with this package's package.json.
 */
export function installedSpec(packageFolder: string, name: string, version: string): string {
  const modules = dirname(packageFolder);
  // A clone, or a link to one.
  if (!modules.endsWith(`${sep}node_modules`)) return fileSpec(packageFolder);
  const { resolved } = lockedIn(join(modules, ".package-lock.json"), name) ?? {};
  if (resolved === undefined || resolved.endsWith(`/${name}/-/${name}-${version}.tgz`)) return `^${version}`;
  return resolved.startsWith("file:") ? fileSpec(resolve(dirname(modules), resolved.slice("file:".length))) : resolved;
}

function lockedIn(file: string, name: string): Locked | undefined {
  if (!existsSync(file)) return undefined;
  const lock = JSON.parse(readFileSync(file, "utf8")) as { packages?: Readonly<Record<string, Locked>> };
  return lock.packages?.[`node_modules/${name}`];
}

function fileSpec(path: string): string {
  return `file:${path.replaceAll(sep, "/")}`;
}
