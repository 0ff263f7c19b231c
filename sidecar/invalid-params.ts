import { z } from 'zod';
import { type Dialect, spell } from '../protocol/dialect';
import { failure, type LimpetError } from '../protocol/errors';
import { type MethodName, methods } from '../protocol/methods';
import { waitCondition } from '../protocol/values';

type Issue = z.core.$ZodIssue;

/** Says which field is wrong, in the spelling its sender uses, and what would be right. */
export function describeIssues(method: MethodName, issues: readonly Issue[], dialect: Dialect): LimpetError {
  const shown = issues.slice(0, 5);
  const message = shown.map((issue) => describe(method, issue, dialect)).join(' ');
  const field = shown[0] === undefined ? '' : fieldOf(shown[0], dialect);
  return failure.invalidParams(message, field === '' ? undefined : { field });
}

function describe(method: MethodName, issue: Issue, dialect: Dialect): string {
  const field = fieldOf(issue, dialect);
  const subject = field === '' ? 'params' : `"${field}"`;
  switch (issue.code) {
    case 'unrecognized_keys': {
      const names = issue.keys.slice(0, 5).map((key) => JSON.stringify(key.slice(0, 100)));
      const within = issue.path.length === 0 ? method : `"${pathOf(issue, dialect)}"`;
      return `${within} has no field ${names.join(', ')}; ${whatItTakes(method, issue, dialect)}.`;
    }
    case 'invalid_type':
      if (field !== '' && issue.message.endsWith('received undefined'))
        return `${subject} is missing: it must be ${article(issue.expected)}.`;
      return `${subject} must be ${article(issue.expected)}.`;
    case 'invalid_union':
      return `${subject} must be one of the conditions ${conditionNames(dialect)}.`;
    case 'invalid_value':
      return `${subject} must be ${issue.values.map((value) => JSON.stringify(value)).join(' or ')}.`;
    case 'too_small':
      if (isDefaultMessage(issue)) return `${subject} must be at least ${issue.minimum}${unit(issue.origin)}.`;
      break;
    case 'too_big':
      if (isDefaultMessage(issue)) return `${subject} must be at most ${issue.maximum}${unit(issue.origin)}.`;
      break;
    case 'invalid_key':
      return `${subject} ${issue.issues[0]?.message ?? 'is not a valid name'}.`;
    default:
  }
  return `${subject}: ${issue.message}.`.replace(/^params: /, 'Please ').replace(/": (must|is) /, '" $1 ');
}

function fieldOf(issue: Issue, dialect: Dialect): string {
  if (issue.code === 'unrecognized_keys') {
    const within = pathOf(issue, dialect);
    const key = issue.keys[0]?.slice(0, 100) ?? '';
    return within === '' ? key : `${within}.${key}`;
  }
  return pathOf(issue, dialect);
}

/** Names below `env` are the user's own and stay as they are. */
function pathOf(issue: Issue, dialect: Dialect): string {
  let path = '';
  for (const [at, part] of issue.path.entries()) {
    if (typeof part === 'number') path += `[${part}]`;
    else {
      const name = at > 0 && issue.path[0] === 'env' ? String(part).slice(0, 100) : spell(String(part), dialect);
      path += path === '' ? name : `.${name}`;
    }
  }
  return path;
}

function whatItTakes(method: MethodName, issue: Issue, dialect: Dialect): string {
  if (issue.path.length > 0) return `known conditions are ${conditionNames(dialect)}`;
  const params: z.ZodType = methods[method].params;
  const names = params instanceof z.ZodObject ? Object.keys(params.shape).map((name) => spell(name, dialect)) : [];
  return names.length === 0 ? 'it takes none' : `it takes ${names.join(', ')}`;
}

const conditionNames = (dialect: Dialect) =>
  waitCondition.options.flatMap((option) => Object.keys(option.shape).map((name) => spell(name, dialect))).join(', ');

const article = (type: string) => (/^[aeiou]/.test(plain(type)) ? `an ${plain(type)}` : `a ${plain(type)}`);
const plain = (type: string) => (type === 'int' ? 'whole number' : type === 'record' ? 'map of strings' : type);
const unit = (origin: string) => (origin === 'string' ? ' characters long' : origin === 'array' ? ' entries long' : '');
const isDefaultMessage = (issue: Issue) => issue.message.startsWith('Too ');
