def main(file):
    return 0
