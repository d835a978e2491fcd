/**
 * The documents of docs/ that the server shows: which there are, in the order of docs/README.md, and a search
 * over their sections. Read once, at the first request.
 */
import { readFile } from 'node:fs/promises';

export interface GuidePage {
  /** Below /docs and, with `.md`, below docs/; `index` is README.md. */
  readonly name: string;
  readonly title: string;
  /** The heading of docs/README.md under which it stands. */
  readonly section: string;
}

export interface GuideSection {
  readonly page: GuidePage;
  readonly title: string;
  readonly text: string;
}

export interface GuideIndex {
  readonly pages: readonly GuidePage[];
  readonly texts: ReadonlyMap<string, string>;
  readonly sections: readonly GuideSection[];
}

export const toGuideName = (file: string): string =>
  file.replace(/\.md$/, '').replace(/(^|\/)README$/, '$1index');
const readGuideFile = (name: string): Promise<string> =>
  readFile(new URL(`../../docs/${name.replace(/(^|\/)index$/, '$1README')}.md`, import.meta.url), 'utf8');

/** The pages that docs/README.md links to: `## Section` and `[Title](file.md)` in the order of the text. */
export const listGuidePages = (text: string): readonly GuidePage[] => {
  const pages: GuidePage[] = [{ name: 'index', title: 'Documents', section: '' }];
  let section = '';
  for (const line of text.split('\n')) {
    if (line.startsWith('## ')) section = line.slice(3);
    for (const [, title = '', file = ''] of line.matchAll(/\[([^[\]]+)\]\(([^()]+)\)/g)) {
      const isPage = /^\w[\w/-]*\.md$/.test(file) && !pages.some(({ name }) => name === toGuideName(file));
      if (isPage) pages.push({ name: toGuideName(file), title, section });
    }
  }
  return pages;
};

const splitSections = (page: GuidePage, text: string): GuideSection[] =>
  text
    .split(/^(?=##? )/m)
    .map((part) => ({ page, title: /^##? (.+)/.exec(part)?.[1] ?? page.title, text: part }));

export const readGuideIndex = async (): Promise<GuideIndex> => {
  const pages = listGuidePages(await readGuideFile('index'));
  const texts = await Promise.all(pages.map(({ name }) => readGuideFile(name)));
  return {
    pages,
    texts: new Map(pages.map(({ name }, index) => [name, texts[index] ?? ''])),
    sections: pages.flatMap((page, index) => splitSections(page, texts[index] ?? '')),
  };
};

/** Results of one search; the words of a title count more than those of a text. */
const resultsMax = 30;

/** The sections that have all words, in any letter case, best first. */
export const findGuideSections = ({ sections }: GuideIndex, query: string): readonly GuideSection[] => {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [];
  const scored = sections.flatMap((section) => {
    const [title, text] = [section.title.toLowerCase(), section.text.toLowerCase()];
    if (!words.every((word) => text.includes(word))) return [];
    return [{ section, score: words.filter((word) => title.includes(word)).length }];
  });
  return scored
    .sort((one, other) => other.score - one.score)
    .slice(0, resultsMax)
    .map(({ section }) => section);
};
