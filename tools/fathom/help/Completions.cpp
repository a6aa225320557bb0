// Completions of the command line for bash, zsh and fish.
#include "tools/fathom/help/ShellHelp.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace llvm;

namespace fathom {

static std::vector<const Option *> optionsOf(const Command &command) {
  std::vector<const Option *> options;
  for (const Option &option : optionTable())
    if (option.commands & command.bit)
      options.push_back(&option);
  return options;
}

// For single quotes: a text that is one word of the shell.
static std::string quoted(StringRef text) {
  std::string result = "'";
  for (char c : text)
    result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

// The words that a value can be; empty where it is free.
static std::string choices(const Option &option) {
  if (option.type != OptionType::Choice)
    return "";
  std::string words = option.value.str();
  std::replace(words.begin(), words.end(), '|', ' ');
  return words;
}

// The first part of an explanation: a list of completions has a line for each.
static StringRef brief(const Option &option) { return option.help.split(';').first.split(':').first; }

static void printBash(raw_ostream &out) {
  out << "# Completion of fathom for bash.\n_fathom() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}\n"
         "  COMPREPLY=()\n  if ((COMP_CWORD == 1)); then\n    COMPREPLY=($(compgen -W '";
  for (const Command &command : commandTable())
    out << command.name << " ";
  out << "--help --version' -- \"$word\"))\n    return\n  fi\n  local options= values=\n  case $command in\n";
  for (const Command &command : commandTable()) {
    out << "    " << command.name << ")\n      options='";
    for (const Option *option : optionsOf(command))
      out << "--" << option->name << " ";
    out << "--help'\n      case $before in\n";
    for (const Option *option : optionsOf(command))
      if (std::string words = choices(*option); !words.empty())
        out << "        --" << option->name << ") values=" << quoted(words) << " ;;\n";
    out << "      esac\n      ;;\n";
  }
  out << "  esac\n"
         "  if [[ -n $values ]]; then\n    COMPREPLY=($(compgen -W \"$values\" -- \"$word\"))\n"
         "  elif [[ $word == -* ]]; then\n    COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
         "  else\n    COMPREPLY=($(compgen -f -- \"$word\"))\n  fi\n}\ncomplete -o filenames -F _fathom fathom\n";
}

// What _arguments takes specially in an explanation.
static std::string zshText(StringRef text) {
  std::string result;
  for (char c : text)
    result += StringRef("[]:\\").contains(c) ? std::string("\\") + c : std::string(1, c);
  return result;
}

static void printZsh(raw_ostream &out) {
  out << "#compdef fathom\n# Completion of fathom for zsh.\n_fathom() {\n  if ((CURRENT == 2)); then\n"
         "    local -a commands=(\n";
  for (const Command &command : commandTable())
    out << "      " << quoted(command.name.str() + ":" + zshText(command.summary)) << "\n";
  out << "    )\n    _describe command commands\n    return\n  fi\n  local command=$words[2]\n  shift words\n"
         "  ((CURRENT--))\n  case $command in\n";
  for (const Command &command : commandTable()) {
    out << "    " << command.name << ")\n      _arguments \\\n";
    for (const Option *option : optionsOf(command)) {
      std::string spec = (option->repeats ? "*--" : "--") + option->name.str() + "[" + zshText(brief(*option)) + "]";
      if (option->type == OptionType::File)
        spec += ":file:_files";
      else if (std::string words = choices(*option); !words.empty())
        spec += ":value:(" + words + ")";
      else if (option->type != OptionType::Flag)
        spec += ":" + zshText(option->value) + ":";
      out << "        " << quoted(spec) << " \\\n";
    }
    out << "        '--help[explain the options]' '*:file:_files'\n      ;;\n";
  }
  out << "  esac\n}\n_fathom \"$@\"\n";
}

static void printFish(raw_ostream &out) {
  out << "# Completion of fathom for fish.\n";
  for (const Command &command : commandTable())
    out << "complete -c fathom -n __fish_use_subcommand -f -a " << command.name << " -d " << quoted(command.summary)
        << "\n";
  for (const Command &command : commandTable())
    for (const Option *option : optionsOf(command)) {
      out << "complete -c fathom -n '__fish_seen_subcommand_from " << command.name << "' -l " << option->name;
      if (option->letter)
        out << " -s " << option->letter;
      if (option->type == OptionType::File)
        out << " -r -F";
      else if (std::string words = choices(*option); !words.empty())
        out << " -x -a " << quoted(words);
      else if (option->type != OptionType::Flag)
        out << " -x";
      out << " -d " << quoted(brief(*option)) << "\n";
    }
}

bool printCompletion(StringRef shell, raw_ostream &out) {
  auto *print = StringSwitch<void (*)(raw_ostream &)>(shell)
                    .Case("bash", printBash)
                    .Case("zsh", printZsh)
                    .Case("fish", printFish)
                    .Default(nullptr);
  if (print)
    print(out);
  return print;
}

} // namespace fathom
