/** The options of `wrangler dev` and `wrangler deploy` that say which bindings there are. */

import { resolve } from "node:path";
import { type BindingOptions, environmentNameOf } from "../../src/cli/wrangler/bindings.ts";
import { configPathIn } from "../../src/cli/wrangler/config-file.ts";

/** Relative paths begin at the current directory. @param environment of the process: wrangler gets the same. */
export function wranglerOptions(args: string[], environment: NodeJS.ProcessEnv): BindingOptions {
  const directory = optionValues(args, "--cwd")[0] ?? ".";
  const [config] = optionValues(args, "--config", "-c");
  const envFiles = optionValues(args, "--env-file");
  return {
    configPath: config === undefined ? configPathIn(resolve(directory)) : resolve(directory, config),
    environmentName: environmentNameOf(optionValues(args, "--env", "-e")[0], environment, envFiles, directory),
    envFiles,
    vars: variablesOnCommandLine(args),
  };
}

/** The values of a wrangler option, given as `--name value` or `--name=value`, perhaps several times. */
export function optionValues(args: string[], ...names: string[]): string[] {
  return args.flatMap((arg, index) => {
    if (names.includes(arg)) return args[index + 1] === undefined ? [] : [args[index + 1] as string];
    const name = names.find((candidate) => arg.startsWith(`${candidate}=`));
    return name === undefined ? [] : [arg.slice(name.length + 1)];
  });
}

/** The variables of `--var A:1 B:2 --var=C:3`: wrangler takes every word up to the next option. */
function variablesOnCommandLine(args: string[]): Record<string, string> {
  const variables: Record<string, string> = {};
  let isVar = false;
  for (const arg of args) {
    const word = arg.startsWith("--var=") ? arg.slice("--var=".length) : arg;
    if (word === arg && arg.startsWith("-")) {
      isVar = arg === "--var";
    } else if (isVar || word !== arg) {
      isVar = true;
      const colon = word.indexOf(":");
      if (colon > 0) variables[word.slice(0, colon)] = word.slice(colon + 1);
    }
  }
  return variables;
}
