/**
 * What is wrong with a page that a browser shows: contrast, names, overflow. A text that the page evaluates.
 */

/** Runs in the page: what is wrong for people who use a phone, a keyboard or a screen reader. */
export const listFlaws = `(() => {
  const flaws = [];
  const toRgb = (text) => (text.match(/[\\d.]+/g) ?? []).map(Number);
  const toLinear = (c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  const toLight = ([r, g, b]) =>
    0.2126 * toLinear(r / 255) + 0.7152 * toLinear(g / 255) + 0.0722 * toLinear(b / 255);
  const findBack = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const back = toRgb(getComputedStyle(at).backgroundColor);
      if (back.length === 3 || back[3] > 0.99) return back;
    }
    return [255, 255, 255];
  };
  const isText = (node) => node.nodeType === 3 && node.data.trim() !== '';
  if (document.documentElement.scrollWidth > innerWidth) flaws.push('wider than the screen');
  if (document.querySelectorAll('h1').length !== 1) flaws.push('no single h1');
  for (const element of document.querySelectorAll('body *')) {
    if (![...element.childNodes].some(isText) || element.disabled) continue;
    if (!element.checkVisibility()) continue;
    const [low, high] = [toRgb(getComputedStyle(element).color), findBack(element)]
      .map(toLight)
      .sort((one, other) => one - other);
    const contrast = (high + 0.05) / (low + 0.05);
    if (contrast < 4.5) flaws.push('contrast ' + contrast.toFixed(2) + ': ' + element.textContent);
  }
  for (const control of document.querySelectorAll('input, select, textarea'))
    if (control.labels.length === 0) flaws.push('no label: ' + control.name);
  for (const button of document.querySelectorAll('button'))
    if (button.textContent.trim() === '') flaws.push('a button without a name');
  return flaws;
})()`;
