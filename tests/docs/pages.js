// Looks at the page that it is put into, and tells the page around it what is wrong: errors of scripts, text that is cut,
// letters that are too small, text over text.
"use strict";
const wrong = [];
window.addEventListener("error", e => wrong.push("script: " + e.message));

function scrolls(element) {
  for (; element; element = element.parentElement)
    if (/auto|scroll/.test(getComputedStyle(element).overflowX) && element !== document.documentElement) return true;
  return false;
}

function look() {
  const page = document.documentElement, least = 11, shapes = [];
  if (page.scrollWidth > page.clientWidth + 1) wrong.push("the page is " + page.scrollWidth + " pixels wide");
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let texts = 0;
  for (let node; (node = walker.nextNode());) {
    const element = node.parentElement, words = node.data.trim(), svg = element.closest("svg");
    if (!words || element.closest("script, style, title") || !element.getClientRects().length) continue;
    ++texts;
    const range = document.createRange();
    range.selectNodeContents(node);
    const box = svg ? element.getBoundingClientRect() : range.getBoundingClientRect();
    const scale = svg ? Math.abs(element.getScreenCTM().a) || Math.abs(element.getScreenCTM().b) : 1;
    const size = parseFloat(getComputedStyle(element).fontSize) * scale;
    if (size < least - 0.05) wrong.push(size.toFixed(1) + " pixels: " + words);
    const frame = svg ? svg.getBoundingClientRect() : { left: 0, right: page.clientWidth, top: 0, bottom: 1e9 };
    const aside = box.left < frame.left - 1 || box.right > frame.right + 1;
    const outside = box.top < frame.top - 2 || box.bottom > frame.bottom + 2;
    if ((aside && !(scrolls(element) && !svg)) || outside) wrong.push("cut: " + words);
    if (svg) shapes.push({ box, words, svg, element });
  }
  if (!texts) wrong.push("no text");
  // Boxes of letters have room above and below; what covers less than a third of a line is no overlap.
  for (let i = 0; i < shapes.length; ++i)
    for (let j = i + 1; j < shapes.length && shapes[j].svg === shapes[i].svg; ++j) {
      const a = shapes[i], b = shapes[j], line = Math.min(a.box.height, b.box.height);
      if (a.element === b.element || a.element.matches(".in") || b.element.matches(".in")) continue; // marks may touch
      const across = Math.min(a.box.right, b.box.right) - Math.max(a.box.left, b.box.left);
      const down = Math.min(a.box.bottom, b.box.bottom) - Math.max(a.box.top, b.box.top);
      if (across > 2 && down > line / 3 + 1) wrong.push("one over the other: " + a.words + " | " + b.words);
    }
  parent.postMessage({ wrong, texts }, "*");
}
window.addEventListener("load", look);
