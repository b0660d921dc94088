import { readEnvironment } from '@eligo/service';

/** A variable of the environment, or the content of the file that the same name with `_FILE` at its end names; undefined when neither is set. */
export function variable(name: string): string | undefined {
  const given = Object.fromEntries([name, `${name}_FILE`].map((one) => [one, process.env[one]]));
  return readEnvironment(given, (env) => env.optional(name));
}
