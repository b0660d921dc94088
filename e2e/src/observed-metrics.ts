import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

/** The expressions of the dashboards and alert rules in a folder. */
export function observedExpressions(folder: string): string[] {
  const { groups } = parse(readFileSync(join(folder, 'prometheus', 'alerts.yml'), 'utf8')) as {
    groups: { rules: { expr: string }[] }[];
  };
  const dashboards = globSync('grafana/dashboards/*.json', { cwd: folder }).map(
    (path) => JSON.parse(readFileSync(join(folder, path), 'utf8')) as { panels: { targets: { expr: string }[] }[] },
  );
  return [
    ...groups.flatMap(({ rules }) => rules.map(({ expr }) => expr)),
    ...dashboards.flatMap(({ panels }) => panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))),
  ];
}

/** The metrics of an expression that are not in the text of `/metrics`, and the labels in selectors that no line of their metric has. */
export function unknownIn(expression: string, metrics: string): string[] {
  const named = expression
    .replaceAll(/\b(?:by|on|without|ignoring) \([^)]*\)/g, '')
    .replaceAll(/\[[^\]]*\]|\boffset \w+/g, '')
    .matchAll(/\b([a-zA-Z_]\w*)\b(?:\{([^}]*)\})?(?!\s*\()(?=(?:[^"]*"[^"]*")*[^"]*$)/g);
  return [...named].flatMap(([, name = '', selector = '']) => {
    if (operators.has(name) || ofPrometheus.has(name)) return [];
    const family = name.replace(/_(?:bucket|sum|count)$/, '');
    const type = new RegExp(`^# TYPE (?:${name} |${family} histogram$)`, 'm');
    if (!type.test(metrics)) return [name];
    // A metric without lines has not happened yet, so its labels are unknown.
    const lines = [...metrics.matchAll(new RegExp(`^${name}\\{([^}]*)\\}`, 'gm'))].map(([, labels = '']) => labels);
    const labels = [...selector.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label = '']) => label);
    const missing = labels.filter(
      (label) => !ofTargets.has(label) && lines.length > 0 && !lines.some((line) => line.includes(`${label}="`)),
    );
    return missing.map((label) => `${name}{${label}}`);
  });
}

const operators = new Set(['and', 'or', 'unless', 'bool']);
/** What Prometheus makes itself. */
const ofPrometheus = new Set(['up', 'ALERTS']);
/** Labels that the scrape configuration gives to its targets. */
const ofTargets = new Set(['job', 'instance', 'component']);
