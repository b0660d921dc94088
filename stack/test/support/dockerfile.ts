import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join, posix } from 'node:path';

/** One instruction: `COPY` and what follows it. */
export interface Step {
  readonly instruction: string;
  readonly rest: string;
}

/** A stage of a Dockerfile. */
export interface Stage {
  readonly name: string;
  readonly from: string;
  readonly steps: readonly Step[];
}

/** Parses what Eligo's Dockerfile uses of the language: arguments before the first stage, stages, steps, continued lines, comments. */
export function parseDockerfile(text: string, given: Readonly<Record<string, string>> = {}): Stage[] {
  const lines = text.replaceAll(/\\\n/g, ' ').split('\n');
  const stages: { name: string; from: string; steps: Step[] }[] = [];
  const values = new Map<string, string>();
  for (const line of lines) {
    if (line.trim() === '' || line.startsWith('#')) continue;
    const [, instruction = '', rest = ''] = /^(\S+)\s+(.*)$/.exec(line.trim()) ?? [];
    if (instruction === 'ARG' && stages.length === 0) {
      const [, name = '', unset = ''] = /^(\w+)=(\S+)$/.exec(rest) ?? [];
      values.set(name, given[name] ?? unset);
    } else if (instruction === 'FROM') {
      const [, from = '', name = ''] = /^(\S+)\s+AS\s+(\S+)$/.exec(rest) ?? [];
      stages.push({ name, from: from.replace(/^\$\{(\w+)\}$/, (_all, one) => values.get(one) ?? ''), steps: [] });
    } else {
      stages.at(-1)?.steps.push({ instruction, rest });
    }
  }
  return stages;
}

/** The last value of an instruction in a stage or what it is made from: `CMD`, `USER`, `WORKDIR`. */
export function lastOf(stages: readonly Stage[], name: string, instruction: string): string | undefined {
  const stage = stages.find((candidate) => candidate.name === name);
  if (!stage) return undefined;
  const own = stage.steps.findLast((step) => step.instruction === instruction);
  return own?.rest ?? lastOf(stages, stage.from, instruction);
}

/** What carrying out a Dockerfile needs: where the stages' file systems go, the files of the build context, and a PATH. */
export interface Workshop {
  readonly folder: string;
  /** The context's files that .dockerignore lets through, by their paths in it. */
  readonly context: readonly string[];
  readonly contextRoot: string;
  readonly environment: NodeJS.ProcessEnv;
  /** Who stands for the image's user `node`; the user of this process when it is not given. */
  readonly user?: { readonly uid: number; readonly gid: number } | undefined;
}

/**
 * Whom a path of a stage's image belongs to: root, unless a RUN step makes it for somebody else by `install -d -o NAME`. What COPY and WORKDIR make is
 * root's, whatever USER says. Undefined when no step makes the path.
 */
export function ownerOf(stages: readonly Stage[], name: string, path: string): string | undefined {
  const stage = stages.find((candidate) => candidate.name === name);
  if (!stage) return undefined;
  let workdir = lastOf(stages, stage.from, 'WORKDIR') ?? '/';
  let owner = ownerOf(stages, stage.from, path);
  for (const { instruction, rest } of stage.steps) {
    if (instruction === 'WORKDIR') workdir = rest;
    if (instruction === 'WORKDIR' && rest === path) owner ??= 'root';
    if (instruction === 'COPY' && posix.resolve(workdir, rest.split(/\s+/).at(-1) ?? '') === path) owner ??= 'root';
    const [, by, made] = /^install -d -o (\S+) .*?(\S+)$/.exec(instruction === 'RUN' ? rest : '') ?? [];
    if (made !== undefined && posix.resolve(workdir, made) === path) owner = by;
  }
  return owner;
}

/**
 * Carries out a stage without a container engine: its files are laid into a folder of their own and its RUN steps run
 * there, the working directory standing for the image's. Returns that folder. Stages are made once.
 */
export function makeStage(stages: readonly Stage[], name: string, workshop: Workshop): string {
  const folder = join(workshop.folder, name);
  if (existsSync(folder)) return folder;
  const stage = stages.find((candidate) => candidate.name === name);
  if (!stage) throw new Error(`the Dockerfile has no stage ${name}`);
  try {
    carryOut(stages, stage, folder, workshop);
  } catch (error) {
    // Half a stage must not be taken for one by whoever asks next.
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
  return folder;
}

function carryOut(stages: readonly Stage[], stage: Stage, folder: string, workshop: Workshop): void {
  const isOwn = stages.some((candidate) => candidate.name === stage.from);
  if (isOwn) copyTree(makeStage(stages, stage.from, workshop), folder);
  else mkdirSync(folder, { recursive: true });
  let workdir = isOwn ? (lastOf(stages, stage.from, 'WORKDIR') ?? '/') : '/';
  for (const { instruction, rest } of stage.steps) {
    if (instruction === 'WORKDIR') {
      workdir = rest;
      mkdirSync(join(folder, workdir), { recursive: true });
    }
    if (instruction === 'COPY') copy(rest, join(folder, workdir), stages, workshop);
    if (instruction === 'RUN') run(rest, join(folder, workdir), workshop);
  }
}

function copy(rest: string, here: string, stages: readonly Stage[], workshop: Workshop): void {
  const words = rest.split(/\s+/);
  const from = words[0]?.startsWith('--from=') ? words.shift()?.slice('--from='.length) : undefined;
  const target = words.pop() ?? '';
  for (const source of words) {
    if (from === undefined) copyFromContext(source, join(here, target), target.endsWith('/'), workshop);
    else copyTree(join(makeStage(stages, from, workshop), source), join(here, target));
  }
}

// A folder's contents, or a file, as COPY has it; only what the context holds.
function copyFromContext(source: string, target: string, isFolder: boolean, workshop: Workshop): void {
  const path = source.replace(/\/$/, '');
  const inside = workshop.context.filter((file) => file === path || file.startsWith(`${path}/`));
  if (inside.length === 0) throw new Error(`COPY ${source}: the build context holds no such file`);
  for (const file of inside) {
    const place =
      file === path ? (isFolder ? join(target, basename(file)) : target) : join(target, file.slice(path.length));
    mkdirSync(dirname(place), { recursive: true });
    cpSync(join(workshop.contextRoot, file), place);
  }
}

// Hard links: a stage's tree is some hundred megabytes of packages, and nothing writes into a file that is there.
function copyTree(source: string, target: string): void {
  mkdirSync(target, { recursive: true });
  if (!statSync(source).isDirectory()) throw new Error(`${source} is no folder`);
  const answer = spawnSync('cp', ['-al', `${source}/.`, target], { encoding: 'utf8' });
  if (answer.status !== 0) throw new Error(answer.stderr);
}

function run(command: string, folder: string, workshop: Workshop): void {
  // Of the image's users this machine need not have one; who is not root can give nothing to others.
  const owner = workshop.user === undefined ? '' : `-o ${workshop.user.uid} -g ${workshop.user.gid}`;
  const placed = command.replaceAll('-o node -g node', owner);
  const answer = spawnSync('/bin/sh', ['-c', placed], { cwd: folder, encoding: 'utf8', env: workshop.environment });
  if (answer.status !== 0) throw new Error(`RUN ${command}: ${answer.stdout}${answer.stderr}`);
}
