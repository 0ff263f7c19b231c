/** One line of the report: two figures of the same run and what their relation must be. */
export interface Row {
  what: string;
  ours: string;
  rival: string;
  /** What is compared with the target: usually ours ÷ rival. */
  ratio: number;
  /** Without one, the row informs and can not fail. */
  target?: { atMost: number } | { atLeast: number };
  /** A program that is not on this machine. Nothing was compared with it, which is no success. */
  missing?: string;
}

export const missingRival = (what: string, program: string): Row => ({
  what,
  ours: '',
  rival: `${program} is missing`,
  ratio: Number.NaN,
  missing: program,
});

/** Whether a row can fail. */
export const isRequired = ({ target, missing }: Row): boolean => target !== undefined || missing !== undefined;

export const isMissed = ({ ratio, target, missing }: Row): boolean => {
  if (missing !== undefined) return true;
  if (target === undefined) return false;
  if (Number.isNaN(ratio)) return true;
  return 'atMost' in target ? ratio > target.atMost : ratio < target.atLeast;
};

export const figure = (value: number, unit: string): string =>
  `${value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(3)} ${unit}`;

const describeTarget = ({ target }: Row): string => {
  if (target === undefined) return '';
  return 'atMost' in target ? `≤ ${target.atMost}` : `≥ ${target.atLeast}`;
};

const heading = ['what', 'limpet', 'rival', 'ratio', 'target', ''];

export function render(rows: Row[]): string {
  const cells = rows.map((row) => [
    row.what,
    row.ours,
    row.rival,
    Number.isNaN(row.ratio) ? '' : row.ratio >= 100 ? row.ratio.toFixed(0) : row.ratio.toFixed(3),
    describeTarget(row),
    isMissed(row) ? 'MISSED' : isRequired(row) ? 'ok' : '',
  ]);
  const widths = heading.map((title, column) =>
    Math.max(title.length, ...cells.map((line) => line[column]?.length ?? 0)),
  );
  const line = (texts: string[]) =>
    texts
      .map((text, column) => text.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  return [line(heading), line(widths.map((width) => '-'.repeat(width))), ...cells.map(line)].join('\n');
}
